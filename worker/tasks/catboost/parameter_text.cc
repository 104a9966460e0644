#include "worker/tasks/catboost/parameter_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "worker/tasks/catboost/feature_options.h"
#include "worker/tasks/catboost/fit_settings.h"

namespace strata {
namespace {

std::string PlainText(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// By what the items of a list are parted on the command line; 0: the key is no list.
char MarkOfList(std::string_view key) {
  if (key == "per_feature_ctr") return ';';
  const bool is_list = std::ranges::any_of(FitSettingsTable().settings, [key](const Setting& row) {
    return row.key == key && row.type == SettingType::kTextList;
  });
  return is_list || key == "simple_ctr" || key == "combinations_ctr" ? ',' : '\0';
}

Result<std::string> ItemText(const JsonAt& item, char mark) {
  if (item.value().is_structured()) return item.Expected("a text or a number");
  std::string text = PlainText(item.value());
  if (text.find(mark) == std::string::npos) return text;
  return item.Expected(mark == ',' ? "a text without commas" : "a text without semicolons");
}

Result<std::string> ListText(const JsonAt& list, char mark) {
  STRATA_ASSIGN(const std::vector<JsonAt> items, list.Items());
  std::string joined;
  for (const JsonAt& item : items) {
    STRATA_ASSIGN(const std::string text, ItemText(item, mark));
    if (!joined.empty()) joined += mark;
    joined += text;
  }
  return joined;
}

// "0:1,1:2" of {"0": 1, "1": 2}.
Result<std::string> ClassWeightsText(const JsonAt& weights) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : weights.value().items()) {
    const JsonAt item(value, fmt::format("{}.{}", weights.where(), name));
    if (!value.is_number()) return item.Expected("a number");
    if (name.find(',') != std::string::npos) {
      return item.Wrong("expected a name without commas: use class_names and a list");
    }
    parts.push_back(fmt::format("{}:{}", name, value.dump()));
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

// "Quantile:alpha=0.3" of {"type": "Quantile", "params": {"alpha": 0.3}}.
Result<std::string> LossObjectText(const JsonAt& loss) {
  STRATA_ASSIGN(const JsonAt type, loss.At("type"));
  STRATA_ASSIGN(std::string text, type.Text());
  for (const auto& [name, value] : loss.value().items()) {
    if (name != "type" && name != "params") {
      return loss.Wrong(fmt::format("expected 'type' and 'params' alone, found '{}'", name));
    }
  }
  if (!loss.Holds("params")) return text;
  STRATA_ASSIGN(const JsonAt params, loss.At("params"));
  if (!params.value().is_object()) return params.Expected("an object");
  char mark = ':';
  for (const auto& [name, value] : params.value().items()) {
    if (name == "__params_key_order") continue;  // CatBoost's own, which says nothing more
    STRATA_ASSIGN(const std::string item,
                  ItemText(JsonAt(value, fmt::format("{}.{}", params.where(), name)), ';'));
    text += fmt::format("{}{}={}", mark, name, item);
    mark = ';';
  }
  return text;
}

}  // namespace

Result<std::string> ParameterText(std::string_view key, const JsonAt& value) {
  const nlohmann::json& json = value.value();
  const bool is_known = std::ranges::any_of(FitSettingsTable().settings,
                                            [key](const Setting& row) { return row.key == key; });
  if (!json.is_structured() || !is_known) return PlainText(json);
  if (const char mark = MarkOfList(key); mark != 0 && json.is_array()) {
    return ListText(value, mark);
  }
  if (const std::optional<std::string> text = FeatureText(key, json)) return *text;
  if (json.is_object() && key == "class_weights") return ClassWeightsText(value);
  if (json.is_object() && (key == "loss_function" || key == "eval_metric")) {
    return LossObjectText(value);
  }
  return value.Expected("a text, a number, true or false");
}

}  // namespace strata
