// The weighted quantile of CatBoost (libs/helpers/quantile.cpp and
// libs/metrics/optimal_const_for_loss.h of its sources), which leaves and start values are.
#pragma once

#include <span>

#include "worker/gbdt/catboost/train/loss_spec.h"

namespace strata {

struct WeightedValue {
  float value = 0;
  float weight = 0;
};

// The constant that minimises MAE, Quantile or MAPE of the values; 0 of none. It is the lowest
// value up to which there is the share alpha of the weights, moved by delta, as float. Of MAPE the
// weights are divided by the values' size, if it is above 1. Sorts the values.
float BestConstant(const LossSpec& loss, std::span<WeightedValue> values);

}  // namespace strata
