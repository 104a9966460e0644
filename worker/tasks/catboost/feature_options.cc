#include "worker/tasks/catboost/feature_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ranges>
#include <vector>

#include "base/human_text.h"
#include "worker/gbdt/catboost/read_number.h"
#include "worker/tasks/catboost/option_reading.h"

namespace strata {
namespace {

constexpr std::string_view kOfNumbers[] = {"feature_weights", "first_feature_use_penalties",
                                           "monotone_constraints"};
constexpr std::string_view kIgnored = "ignored_features";

std::vector<std::string> Parts(std::string_view text, char delimiter) {
  std::vector<std::string> parts;
  for (const auto part : std::views::split(text, delimiter)) {
    parts.emplace_back(part.begin(), part.end());
  }
  return parts;
}

// "(1,0,-1)" has a number for each feature, "0:1,age:-1" names some.
bool ParseNumbers(std::string_view text, FeatureNumbers* numbers) {
  const bool is_list = text.size() > 1 && text.front() == '(' && text.back() == ')';
  if (is_list) text = text.substr(1, text.size() - 2);
  for (const std::string& part : Parts(text, ',')) {
    const size_t colon = part.rfind(':');
    if (!is_list && (colon == part.npos || colon == 0)) return false;
    std::string feature = is_list ? fmt::format("{}", numbers->size()) : part.substr(0, colon);
    double number = 0;
    if (!ReadNumber(std::string_view(part).substr(is_list ? 0 : colon + 1), &number)) return false;
    numbers->emplace_back(std::move(feature), static_cast<float>(number));
  }
  return true;
}

Result<FeatureNumbers> ReadNumbers(const Settings& settings, const char* key,
                                   bool (*is_right)(double), const char* expected) {
  const std::string& text = settings.Text(key);
  FeatureNumbers numbers;
  if (text.empty()) return numbers;
  const bool has_form = ParseNumbers(text, &numbers);
  const auto is_wrong = [&](const auto& number) { return !is_right(number.second); };
  if (has_form && std::ranges::none_of(numbers, is_wrong)) return numbers;
  return Invalid(fmt::format(
      "{}: {}: expected {}, for each feature as in (1,0,1), or as in 0:1,NAME:0; found '{}'",
      settings.Origin(key), key, expected, ShownBytes(text)));
}

std::optional<std::string> TextOf(const nlohmann::json& value) {
  if (value.is_structured()) return std::nullopt;
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Status CheckDirections(const Settings& settings, const FitParameters& p) {
  if (p.features.directions.empty()) return {};
  if (p.leaf_method == LeafMethod::kExact) {
    return Invalid(
        fmt::format("{}: monotone_constraints are not there yet for leaf_estimation_method = "
                    "Exact, which {} has by default: expected Gradient",
                    settings.Origin("monotone_constraints"), LossText(p.loss)));
  }
  if (!IsMultiClass(p.loss.type)) return {};
  return Invalid(fmt::format("{}: monotone_constraints are not there yet for {}: remove it",
                             settings.Origin("monotone_constraints"), LossText(p.loss)));
}

}  // namespace

std::optional<std::string> FeatureText(std::string_view key, const nlohmann::json& value) {
  const bool is_ignored = key == kIgnored;
  if (!is_ignored && std::ranges::find(kOfNumbers, key) == std::end(kOfNumbers)) return {};
  if (is_ignored && !value.is_array()) return {};
  std::vector<std::string> parts;
  for (const auto& [name, item] : value.items()) {
    const std::optional<std::string> text = TextOf(item);
    if (!text.has_value()) return {};
    parts.push_back(value.is_array() ? *text : fmt::format("{}:{}", name, *text));
  }
  if (is_ignored) return fmt::format("{}", fmt::join(parts, ":"));
  return fmt::format(fmt::runtime(value.is_array() ? "({})" : "{}"), fmt::join(parts, ","));
}

Status SetFeatureRules(const Settings& settings, FitParameters* parameters) {
  FeatureRules& rules = parameters->features;
  const auto not_negative = [](double number) { return number >= 0 && std::isfinite(number); };
  STRATA_ASSIGN(rules.weights,
                ReadNumbers(settings, "feature_weights", not_negative, "numbers of 0 or above"));
  STRATA_ASSIGN(rules.first_use_penalties, ReadNumbers(settings, "first_feature_use_penalties",
                                                       not_negative, "numbers of 0 or above"));
  const auto is_direction = [](double number) {
    return number == 0 || number == 1 || number == -1;
  };
  STRATA_ASSIGN(rules.directions,
                ReadNumbers(settings, "monotone_constraints", is_direction, "1, 0 or -1"));
  rules.penalties_coefficient = FloatOption(settings, "penalties_coefficient");
  if (rules.penalties_coefficient != 1 && rules.first_use_penalties.empty()) {
    return HasNoEffect(settings, "penalties_coefficient", "without first_feature_use_penalties");
  }
  // As in "3:5-9:age".
  if (const std::string& ignored = settings.Text(kIgnored); !ignored.empty()) {
    rules.ignored = Parts(ignored, ':');
  }
  return CheckDirections(settings, *parameters);
}

}  // namespace strata
