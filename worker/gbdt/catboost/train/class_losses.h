// The losses of several classes, by row: MultiClass and MultiClassOneVsAll
// (private/libs/algo_helpers/error_functions.h and libs/metrics/metric.cpp of CatBoost's sources).
// A row has a raw value for each output; its label is the number of one. The derivatives of minus
// the loss follow from the probabilities p: the first ones are y - p, where y is 1 for the label.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "worker/gbdt/catboost/train/loss_spec.h"

namespace strata {

struct SoftmaxLoss {
  static constexpr bool kIsDiagonal = false;  // second derivatives are p * p^T - diag(p)

  static double Value(std::span<const double> raw, size_t label) {
    const double most = *std::ranges::max_element(raw);
    double sum = 0;
    for (const double value : raw) sum += std::exp(value - most);
    return most + std::log(sum) - raw[label];
  }
  // Raw values become probabilities.
  static void ToProbabilities(std::span<double> values) {
    const double most = *std::ranges::max_element(values);
    double sum = 0;
    for (double& value : values) {
      value = std::exp(value - most);
      sum += value;
    }
    for (double& value : values) value /= sum;
  }
};

// The mean of each output's loss, which is Logloss of its class against the others.
struct OneVsAllLoss {
  static constexpr bool kIsDiagonal = true;  // second derivatives are -p * (1 - p)

  static double Value(std::span<const double> raw, size_t label) {
    double sum = -raw[label];
    for (const double value : raw) {
      sum += std::max(value, 0.0) + std::log1p(std::exp(-std::abs(value)));
    }
    return sum / static_cast<double>(raw.size());
  }
  static void ToProbabilities(std::span<double> values) {
    for (double& value : values) value = 1 / (1 + std::exp(-value));
  }
};

// Calls work(loss) with the functor of the loss, which IsMultiClass.
template <typename Work>
auto WithClassLoss(FitLoss loss, const Work& work) {
  return loss == FitLoss::kMultiClass ? work(SoftmaxLoss()) : work(OneVsAllLoss());
}

}  // namespace strata
