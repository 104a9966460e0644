#include "worker/gbdt/catboost/train/tree_columns.h"

#include <algorithm>

#include "worker/gbdt/catboost/split_bins.h"

namespace strata {

TreeColumns FeatureColumns(const CatBoostModel& model, const FitRows& rows) {
  TreeColumns all;
  uint32_t first_split = 0;
  const auto add = [&](size_t splits, bool is_value, uint32_t feature) {
    all.columns.push_back(
        {.bins = rows.Column(all.columns.size()), .splits = splits, .is_value = is_value});
    all.first_splits.push_back(first_split);
    all.features.push_back(feature);
    first_split += static_cast<uint32_t>(splits);
  };
  for (const CatBoostNumber& number : model.numbers) {
    if (!number.borders.empty()) add(number.borders.size(), false, number.flat_index);
  }
  for (const CatBoostCategory& category : model.categories) {
    const size_t values = category.values.size();
    for (size_t begin = 0; begin < values; begin += kBinsOfColumn) {
      add(std::min(kBinsOfColumn, values - begin), true, category.flat_index);
    }
  }
  return all;
}

}  // namespace strata
