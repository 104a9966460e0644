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

Status IgnoreFeatures(const FeatureRules& rules, CatBoostModel* model) {
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
  model->splits.clear();
  model->ListFeatureSplits();
  return {};
}

Result<ColumnRules> ColumnRules::Make(const FeatureRules& rules, const CatBoostModel& model,
                                      std::vector<uint32_t> features) {
  ColumnRules made(std::move(features));
  if (rules.weights.empty() && rules.first_use_penalties.empty()) return made;
  STRATA_ASSIGN(const std::vector<double> weights,
                ByFeature(rules.weights, "feature_weights", 1, model));
  STRATA_ASSIGN(const std::vector<double> penalties,
                ByFeature(rules.first_use_penalties, "first_feature_use_penalties", 0, model));
  for (const uint32_t feature : made.features_) {
    made.rules_.push_back(
        {.weight = weights[feature], .penalty = penalties[feature] * rules.penalties_coefficient});
  }
  return made;
}

void ColumnRules::Use(size_t column) {
  for (size_t other = 0; other < rules_.size(); ++other) {
    if (features_[other] == features_[column]) rules_[other].penalty = 0;
  }
}

}  // namespace strata
