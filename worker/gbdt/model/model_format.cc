#include "worker/gbdt/model/model_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/file/text_file.h"
#include "worker/data/file/file_look.h"
#include "worker/gbdt/model/lightgbm_text.h"
#include "worker/gbdt/model/model_cpp.h"
#include "worker/gbdt/model/model_json.h"
#include "worker/gbdt/model/xgboost_json.h"

namespace strata {
namespace {

constexpr uint64_t kModelBytesMax = uint64_t{16} << 30;
constexpr std::string_view kBlanks = " \t\r\n";

// LightGBM's dump, or one of XGBoost's, as JSON or text: made for people and charts.
bool IsDump(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  const auto holds = [&](std::string_view word) { return text.find(word) != text.npos; };
  if (text.starts_with('{')) return !holds("\"learner\"") && holds("\"tree_info\"");
  if (text.starts_with('[')) return holds("\"nodeid\"");
  return text.starts_with("booster[");
}

// A feature of an XGBoost model may have any name.
bool IsCatBoost(std::string_view text) {
  return text.find("\"learner\"") == text.npos && text.find("\"features_info\"") != text.npos;
}

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
  STRATA_ASSIGN(const std::string text, ReadTextFile(disk, path, kModelBytesMax));
  if (IsDump(text)) {
    return Invalid(fmt::format(
        "{}: a dump of a model (model_format = json, dump_model), which no program reads: give the "
        "model itself, as LightGBM's text or as XGBoost's save_model writes it to a .json",
        path));
  }
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string::npos || text[first] != '{') {
    STRATA_ASSIGN(const std::unique_ptr<File> file, disk.OpenToRead(path));
    STRATA_TRY(CheckIsText(*file, path, "a model as text"));
    return ReadLightGbmText(text, path);
  }
  if (IsCatBoost(text)) {
    return Invalid(fmt::format(
        "{}: a model of CatBoost, which predicts by its own options: strata-worker --task=predict "
        "model_file={} input_path=FILE (docs/catboost.md)",
        path, path));
  }
  // UBJSON begins as JSON does, but goes on with the type of a length.
  if (first + 1 < text.size() && (text[first + 1] == 'L' || text[first + 1] == '$')) {
    return Invalid(fmt::format(
        "{}: XGBoost's binary JSON (.ubj) is not supported: save the model as .json", path));
  }
  return ReadXgboostJson(text, path);
}

}  // namespace strata
