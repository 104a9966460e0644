#include "worker/gbdt/catboost/train/tree_ctrs.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace strata {

void TreeCtrs::AddSplit(uint32_t split) {
  const CatBoostSplit& of = model_.splits[split];
  if (of.kind != SplitKind::kCtr) {
    (of.kind == SplitKind::kNumber ? number_splits_ : value_splits_).push_back(split);
    return;
  }
  const CtrProjection& projection = used_.column(of.of).projection;
  if (std::ranges::find(split_by_, projection) == split_by_.end()) split_by_.push_back(projection);
}

std::vector<CtrProjection> TreeCtrs::LevelProjections() const {
  std::vector<CtrProjection> all;
  for (const uint32_t category : categories_) all.push_back({{category}, {}});
  if (p_.max_ctr_complexity < 2) return all;
  CtrProjection features = {.categories = {}, .splits = number_splits_};
  features.splits.insert(features.splits.end(), value_splits_.begin(), value_splits_.end());
  std::vector<CtrProjection> bases = split_by_;
  if (!features.splits.empty()) bases.insert(bases.begin(), std::move(features));
  std::set<CtrProjection> seen(all.begin(), all.end());
  for (const CtrProjection& base : bases) {
    for (const uint32_t category : categories_) {
      CtrProjection joined = base;
      const auto place = std::ranges::lower_bound(joined.categories, category);
      if (place != joined.categories.end() && *place == category) continue;
      joined.categories.insert(place, category);
      const size_t complexity = joined.categories.size() + (joined.splits.empty() ? 0 : 1);
      if (complexity > p_.max_ctr_complexity || !seen.insert(joined).second) continue;
      all.push_back(std::move(joined));
    }
  }
  return all;
}

std::vector<GrowColumn> TreeCtrs::NextLevel() {
  const std::vector<CtrProjection> projections = LevelProjections();
  columns_.Make(fold_, projections);
  std::vector<GrowColumn> added;
  tried_.clear();
  for (const CtrProjection& projection : projections) {
    tried_[projection] = columns_.KeyCount(projection);
    if (!known_.insert(projection).second) continue;
    const std::vector<CtrKind>& kinds = columns_.KindsOf(projection);
    for (size_t k = 0; k < kinds.size(); ++k) {
      for (size_t prior = 0; prior < kinds[k].priors.size(); ++prior) {
        const CtrColumn& column =
            of_tree_.emplace_back(CtrColumn{.projection = projection, .kind = k, .prior = prior});
        added.push_back({.bins = columns_.Column(fold_, column), .splits = kinds[k].border_count});
      }
    }
  }
  return added;
}

void TreeCtrs::SetFactors(std::span<ColumnRule> rules) const {
  size_t most = 1;
  for (const auto& [projection, keys] : tried_) most = std::max(most, keys);
  size_t first = first_column_;  // column of the projection
  for (size_t i = 0; i < of_tree_.size(); ++i) {
    const CtrProjection& projection = of_tree_[i].projection;
    ColumnRule& rule = rules[first_column_ + i];
    const auto tried = tried_.find(projection);
    rule.is_tried = tried != tried_.end();
    // As in CatBoost, rsm draws projections.
    if (i == 0 || of_tree_[i - 1].projection != projection) first = first_column_ + i;
    rule.drawn_with = first;
    if (!rule.is_tried) continue;
    if (used_.Has(columns_.KindsOf(projection)[of_tree_[i].kind].type, projection)) continue;
    const double share = static_cast<double>(tried->second) / static_cast<double>(most);
    rule.factor = std::pow(1 + share, -p_.model_size_reg);
  }
}

std::vector<uint32_t> TreeCtrs::FeaturesOf(size_t column) const {
  const CtrProjection& projection = of_tree_[column - first_column_].projection;
  std::vector<uint32_t> features;
  for (const uint32_t category : projection.categories) {
    features.push_back(model_.categories[category].flat_index);
  }
  for (const uint32_t split : projection.splits) {
    const CatBoostSplit& of = model_.splits[split];
    features.push_back(of.kind == SplitKind::kNumber ? model_.numbers[of.of].flat_index
                                                     : model_.categories[of.of].flat_index);
  }
  return features;
}

}  // namespace strata
