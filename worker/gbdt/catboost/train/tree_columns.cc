#include "worker/gbdt/catboost/train/tree_columns.h"

namespace strata {

TreeColumns NumberColumns(const CatBoostModel& model, const FitRows& rows) {
  TreeColumns all;
  uint32_t split = 0;
  for (const CatBoostNumber& number : model.numbers) {
    if (number.borders.empty()) continue;
    all.columns.push_back(
        {.bins = rows.Column(all.columns.size()), .splits = number.borders.size()});
    all.first_splits.push_back(split);
    split += static_cast<uint32_t>(number.borders.size());
  }
  return all;
}

}  // namespace strata
