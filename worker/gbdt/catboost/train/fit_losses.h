// The losses that CatBoost's trees are trained for, by row: value and derivatives in double.
#pragma once

#include <algorithm>
#include <cmath>

#include "worker/gbdt/catboost/train/fit_parameters.h"

namespace strata {

// Of minus the loss by the raw value, as CatBoost has them: the first one says where to go.
struct RowDerivatives {
  double first = 0;
  double second = 0;
};

struct RmseLoss {
  static double Value(double raw, double label) { return (label - raw) * (label - raw); }
  static RowDerivatives Derive(double raw, double label) { return {label - raw, -1}; }
  // Of the rows' mean.
  static double Total(double mean) { return std::sqrt(mean); }
};

// Logloss, where labels are 0 and 1, and CrossEntropy, where they are probabilities.
struct EntropyLoss {
  static double Value(double raw, double label) {
    return std::max(raw, 0.0) + std::log1p(std::exp(-std::abs(raw))) - label * raw;
  }
  static RowDerivatives Derive(double raw, double label) {
    const double p = 1 / (1 + std::exp(-raw));
    return {label - p, -p * (1 - p)};
  }
  static double Total(double mean) { return mean; }
};

// Calls work(L()) with the functor of the loss.
template <typename Work>
auto WithFitLoss(FitLoss loss, const Work& work) {
  if (loss == FitLoss::kRmse) return work(RmseLoss());
  return work(EntropyLoss());
}

}  // namespace strata
