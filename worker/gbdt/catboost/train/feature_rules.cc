#include "worker/gbdt/catboost/train/feature_rules.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace strata {
namespace {

// Nothing: there is no such feature.
std::optional<size_t> FindFeature(const std::string& text, const CatBoostModel& model) {
  for (const CatBoostNumber& number : model.numbers) {
    if (number.id == text) return number.flat_index;
  }
  for (const CatBoostCategory& category : model.categories) {
    if (category.id == text) return category.flat_index;
  }
  size_t index = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, index);
  if (error != std::errc() || stop != end || index >= model.features()) return std::nullopt;
  return index;
}

}  // namespace

Result<std::vector<double>> ByFeature(const FeatureNumbers& numbers, const char* key, double other,
                                      const CatBoostModel& model) {
  std::vector<double> by_feature(model.features(), other);
  for (const auto& [feature, number] : numbers) {
    const std::optional<size_t> found = FindFeature(feature, model);
    if (!found.has_value()) {
      return Invalid(
          fmt::format("{}: there is no feature '{}': expected an index from 0 to {}, or a name of "
                      "the column description",
                      key, feature, model.features() - 1));
    }
    by_feature[*found] = number;
  }
  return by_feature;
}

Result<std::vector<double>> Directions(const FeatureRules& rules, const CatBoostModel& model) {
  constexpr const char* kKey = "monotone_constraints";
  STRATA_ASSIGN(std::vector<double> directions, ByFeature(rules.directions, kKey, 0, model));
  for (const CatBoostCategory& category : model.categories) {
    if (directions[category.flat_index] == 0) continue;
    return Invalid(
        fmt::format("{}: feature {} is a category: expected a number", kKey, category.flat_index));
  }
  return directions;
}

Status IgnoreFeatures(const FeatureRules& rules, CatBoostModel* model,
                      std::vector<uint32_t>* with_statistics) {
  if (rules.ignored.empty()) return {};
  FeatureNumbers numbers;
  for (const std::string& feature : rules.ignored) numbers.emplace_back(feature, 1);
  STRATA_ASSIGN(const std::vector<double> is_ignored,
                ByFeature(numbers, "ignored_features", 0, *model));
  for (CatBoostNumber& number : model->numbers) {
    if (is_ignored[number.flat_index] == 0) continue;
    number.borders.clear();
    number.has_nans = false;
    number.nan = NanTreatment::kAsIs;
  }
  for (CatBoostCategory& category : model->categories) {
    if (is_ignored[category.flat_index] != 0) category.values.clear();
  }
  std::erase_if(*with_statistics, [&](uint32_t category) {
    return is_ignored[model->categories[category].flat_index] != 0;
  });
  return {};
}

Result<ColumnRules> ColumnRules::Make(const FeatureRules& rules, const CatBoostModel& model) {
  ColumnRules made;
  if (rules.weights.empty() && rules.first_use_penalties.empty()) return made;
  STRATA_ASSIGN(made.weights_, ByFeature(rules.weights, "feature_weights", 1, model));
  STRATA_ASSIGN(made.penalties_,
                ByFeature(rules.first_use_penalties, "first_feature_use_penalties", 0, model));
  for (double& penalty : made.penalties_) penalty *= rules.penalties_coefficient;
  return made;
}

ColumnRule ColumnRules::Of(std::span<const uint32_t> features) const {
  ColumnRule rule;
  if (!is_active()) return rule;
  for (const uint32_t feature : features) {
    rule.weight *= weights_[feature];
    rule.penalty += penalties_[feature];
  }
  return rule;
}

void ColumnRules::Use(std::span<const uint32_t> features) {
  if (!is_active()) return;
  for (const uint32_t feature : features) penalties_[feature] = 0;
}

}  // namespace strata
