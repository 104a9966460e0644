// Models as files: which formats there are, and reading whichever a file has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/gbdt/model/tree_model.h"

namespace strata {

enum class ModelFormat : uint8_t { kLightGbm, kXgboost, kJson, kCpp };

// "lightgbm", "xgboost", "json", "cpp". kInvalid: no such format.
Result<ModelFormat> ModelFormatOf(std::string_view name);

Result<std::string> WriteModelAs(const TreeModel& model, ModelFormat format);

// LightGBM's text or XGBoost's JSON, which is told from the first character. kNotFound: no such
// file.
Result<TreeModel> ReadModelFile(Disk& disk, const std::string& path);

}  // namespace strata
