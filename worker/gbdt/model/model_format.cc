#include "worker/gbdt/model/model_format.h"

#include <fmt/format.h>

#include "worker/gbdt/model/lightgbm_text.h"
#include "worker/gbdt/model/model_cpp.h"
#include "worker/gbdt/model/model_json.h"
#include "worker/gbdt/model/xgboost_json.h"

namespace strata {
namespace {

constexpr uint64_t kModelBytesMax = uint64_t{16} << 30;

}  // namespace

Result<ModelFormat> ModelFormatOf(std::string_view name) {
  if (name == "lightgbm") return ModelFormat::kLightGbm;
  if (name == "xgboost") return ModelFormat::kXgboost;
  if (name == "json") return ModelFormat::kJson;
  if (name == "cpp") return ModelFormat::kCpp;
  return Invalid(fmt::format("model format '{}': expected lightgbm, xgboost, json or cpp", name));
}

Result<std::string> WriteModelAs(const TreeModel& model, ModelFormat format) {
  switch (format) {
    case ModelFormat::kLightGbm:
      return WriteLightGbmText(model);
    case ModelFormat::kXgboost:
      return WriteXgboostJson(model);
    case ModelFormat::kJson:
      return WriteModelJson(model);
    case ModelFormat::kCpp:
      return WriteModelCpp(model);
  }
  return Internal("no such model format");
}

Result<TreeModel> ReadModelFile(Disk& disk, const std::string& path) {
  STRATA_ASSIGN(const std::string text, ReadFile(disk, path, kModelBytesMax));
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{') return ReadLightGbmText(text, path);
  // UBJSON begins as JSON does, but goes on with the type of a length.
  if (first + 1 < text.size() && (text[first + 1] == 'L' || text[first + 1] == '$')) {
    return Invalid(fmt::format(
        "{}: XGBoost's binary JSON (.ubj) is not supported: save the model as .json", path));
  }
  return ReadXgboostJson(text, path);
}

}  // namespace strata
