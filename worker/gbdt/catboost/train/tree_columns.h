// TreeColumns: what a training's trees may split by, and which splits of the model that makes.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/tree/oblivious/grow_column.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/train/fit_rows.h"

namespace strata {

struct TreeColumns {
  std::vector<GrowColumn> columns;
  std::vector<uint32_t> first_splits;  // of the model, of each column
  std::vector<uint32_t> features;      // of each column its feature's place in the data

  uint32_t ModelSplit(const GrowSplit& split) const {
    return first_splits[split.column] + static_cast<uint32_t>(split.place);
  }
};

// The model's numbers that have borders, which are up to 255, and its categories that have values.
// The rows, by the model's bins, outlive the columns.
TreeColumns FeatureColumns(const CatBoostModel& model, const FitRows& rows);

}  // namespace strata
