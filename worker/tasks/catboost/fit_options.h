// What `strata-worker --catboost-params=FILE` is asked to do: the parameters of `catboost fit`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "base/file/output_file.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/pool_file.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"
#include "worker/tasks/catboost/display_options.h"

namespace strata {

struct FitOptions {
  FitParameters parameters;
  PoolOptions learn;
  PoolOptions test;  // path empty: there is none
  std::string model_file;
  std::string model_option = "model_file";  // the one that names it
  int threads = 0;                          // 0: one a core
  DisplayOptions display;
  // What it reads, with the options that name it.
  std::vector<NamedFile> inputs;
};

// The parameters of a file, an object of JSON, and over them the words of the command line,
// key=value each. kInvalid and kCorrupt name file or word, and the key: what is not known, is not
// there yet, is missing, or has no effect. Errors of the disk as they come.
Result<FitOptions> LoadFitOptions(Disk& disk, const std::string& params_file,
                                  std::span<const std::string> words, const std::string& task);

// The parameters of training among the settings of FitSettingsTable. kInvalid: what does not fit
// together; the origin and the key.
Result<FitParameters> ReadFitParameters(const Settings& settings);

}  // namespace strata
