#include "worker/gbdt/catboost/train/feature_rules.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string_view>

#include "base/human_text.h"
#include "worker/gbdt/catboost/read_number.h"

namespace strata {
namespace {

// The features that texts name: by names of the column description, or by places in the data.
class FeatureNames {
 public:
  explicit FeatureNames(const CatBoostModel& model) : count_(model.features()) {
    for (const CatBoostNumber& number : model.numbers) Add(number.id, number.flat_index);
    for (const CatBoostCategory& category : model.categories) Add(category.id, category.flat_index);
  }

  // Nothing: there is no such feature.
  std::optional<size_t> Find(std::string_view text) const {
    if (const auto named = by_name_.find(text); named != by_name_.end()) return named->second;
    size_t index = 0;
    if (ReadNumber(text, &index) && index < count_) return index;
    return std::nullopt;
  }

  // The first and the last of a feature, or of a range of indices: "3-5".
  std::optional<std::pair<size_t, size_t>> FindRange(std::string_view text) const {
    if (const auto one = Find(text)) return std::pair(*one, *one);
    const size_t dash = text.find('-');
    if (dash == text.npos) return std::nullopt;
    const auto first = Find(text.substr(0, dash));
    const auto last = Find(text.substr(dash + 1));
    if (!first || !last || *first > *last) return std::nullopt;
    return std::pair(*first, *last);
  }

  Status Missing(const char* key, std::string_view text) const {
    return Invalid(
        fmt::format("{}: there is no feature '{}': expected an index from 0 to {}, or a name "
                    "of a feature",
                    key, ShownBytes(text), count_ - 1));
  }

 private:
  void Add(const std::string& name, size_t feature) {
    if (!name.empty()) by_name_.emplace(name, feature);
  }

  const size_t count_;
  std::map<std::string_view, size_t> by_name_;
};

// Numbers by the model's features, and `other` for those without one.
Result<std::vector<double>> ByFeature(const FeatureNumbers& numbers, const char* key, double other,
                                      const CatBoostModel& model) {
  std::vector<double> by_feature(model.features(), other);
  const FeatureNames names(model);
  for (const auto& [feature, number] : numbers) {
    const std::optional<size_t> found = names.Find(feature);
    if (!found.has_value()) return names.Missing(key, feature);
    by_feature[*found] = number;
  }
  return by_feature;
}

}  // namespace

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
  std::vector<uint8_t> is_ignored(model->features());
  const FeatureNames names(*model);
  for (const std::string& text : rules.ignored) {
    const auto range = names.FindRange(text);
    if (!range.has_value()) return names.Missing("ignored_features", text);
    for (size_t f = range->first; f <= range->second; ++f) is_ignored[f] = 1;
  }
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
  for (const uint32_t feature : features) {
    rule.weight *= weights_[feature];
    rule.penalty += penalties_[feature];
  }
  return rule;
}

void ColumnRules::Use(std::span<const uint32_t> features) {
  for (const uint32_t feature : features) penalties_[feature] = 0;
}

}  // namespace strata
