#include "worker/gbdt/catboost/other_model.h"

namespace strata {

std::string_view OtherModel(std::string_view text) {
  if (text.starts_with("CBM1")) {
    return "a model in CatBoost's binary format (.cbm) is not supported: save it as JSON, with "
           "save_model(FILE, format=\"json\", pool=POOL)";
  }
  if (text.starts_with("tree\n") || text.starts_with("tree\r\n")) {
    return "a model of LightGBM, and expected one of CatBoost: a train.conf with task = predict "
           "and input_model predicts with it (docs/trees.md)";
  }
  const auto holds = [text](std::string_view word) { return text.find(word) != text.npos; };
  if (holds("\"features_info\"")) return {};
  // UBJSON begins as JSON does, but goes on with the type of a length.
  if (holds("\"learner\"") || text.starts_with("{L") || text.starts_with("{$")) {
    return "a model of XGBoost, and expected one of CatBoost: a train.conf with task = predict and "
           "input_model predicts with it, as JSON (docs/trees.md)";
  }
  if (holds("\"tree_info\"")) {
    return "a dump of LightGBM's, which no program reads, and expected a model of CatBoost";
  }
  return {};
}

}  // namespace strata
