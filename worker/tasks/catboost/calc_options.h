// What `strata-worker model_file=...` is asked to do: the options of `catboost calc`, whose names
// have underscores here.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/file/output_file.h"
#include "base/settings/settings.h"
#include "kernels/core/device_choice.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/pool_file.h"

namespace strata {

struct CalcOptions {
  std::string task;  // "predict", "convert"
  std::string model_file;
  PoolOptions rows;  // of predict
  std::string output_path;
  std::string prediction_type = "RawFormulaVal";
  int threads = 0;  // 0: one a core
  DeviceChoice device;
  // What it reads, with the options that name it.
  std::vector<NamedFile> inputs;
};

// The options, with defaults and bounds, as they are parsed and documented.
const SettingsTable& CalcSettingsTable();

// Whether the words of a command line, key=value each, name a model of CatBoost.
bool NameCatBoostModel(std::span<const std::string> words);

// Reads the words of a command line, key=value each, for the task of this name. kInvalid: an option
// is not known, has no effect on the task, is missing or has a wrong value.
Result<CalcOptions> ParseCalcOptions(std::span<const std::string> words, const std::string& task);

}  // namespace strata
