#include "worker/gbdt/catboost/catboost_model.h"

#include <algorithm>

namespace strata {

void CatBoostModel::ListFeatureSplits() {
  for (size_t f = 0; f < numbers.size(); ++f) {
    for (size_t i = 0; i < numbers[f].borders.size(); ++i) {
      splits.push_back({.kind = SplitKind::kNumber, .of = f, .place = i});
    }
  }
  for (size_t c = 0; c < categories.size(); ++c) {
    for (size_t i = 0; i < categories[c].values.size(); ++i) {
      splits.push_back({.kind = SplitKind::kExactValue, .of = c, .place = i});
    }
  }
}

void CatBoostModel::ListCtrSplits() {
  for (size_t c = 0; c < ctrs.size(); ++c) {
    for (size_t i = 0; i < ctrs[c].borders.size(); ++i) {
      splits.push_back({.kind = SplitKind::kCtr, .of = c, .place = i});
    }
  }
}

std::optional<uint32_t> CatBoostModel::FindSplit(const CatBoostSplit& split) const {
  const auto found = std::ranges::lower_bound(splits, split);
  if (found == splits.end() || *found != split) return std::nullopt;
  return static_cast<uint32_t>(found - splits.begin());
}

size_t CatBoostModel::features() const {
  size_t count = 0;
  for (const CatBoostNumber& f : numbers) count = std::max<size_t>(count, f.flat_index + 1);
  for (const CatBoostCategory& c : categories) count = std::max<size_t>(count, c.flat_index + 1);
  return count;
}

}  // namespace strata
