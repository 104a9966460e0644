// The losses that CatBoost's trees are trained for, by row: value and derivatives in double
// (private/libs/algo_helpers/error_functions.h and libs/metrics/metric.cpp of its sources). Some
// parameters are rounded to float where CatBoost rounds them.
#pragma once

#include <algorithm>
#include <cmath>

#include "worker/gbdt/catboost/train/loss_spec.h"

namespace strata {

// Of minus the loss by the raw value, as CatBoost has them: the first one says where to go.
struct RowDerivatives {
  double first = 0;
  double second = 0;
};

struct RmseLoss {
  double Value(double raw, double label) const { return (label - raw) * (label - raw); }
  RowDerivatives Derive(double raw, double label) const { return {label - raw, -1}; }
};

// Logloss, where labels are 0 and 1, and CrossEntropy, where they are probabilities.
struct EntropyLoss {
  double Value(double raw, double label) const {
    return std::max(raw, 0.0) + std::log1p(std::exp(-std::abs(raw))) - label * raw;
  }
  RowDerivatives Derive(double raw, double label) const {
    const double p = 1 / (1 + std::exp(-raw));
    return {label - p, -p * (1 - p)};
  }
};

// An error below `delta` is none.
struct QuantileLoss {
  double alpha = 0.5;
  double delta = 0;
  double scale = 1;  // of the value: MAE is twice the loss of alpha = 0.5

  double Value(double raw, double label) const {
    const double error = label - raw;
    if (std::abs(error) < delta) return 0;
    return scale * (error > 0 ? alpha * (error - delta) : -(1 - alpha) * (error + delta));
  }
  RowDerivatives Derive(double raw, double label) const {
    const double error = label - raw;
    if (std::abs(error) < delta) return {};
    const double rounded = static_cast<float>(alpha);
    return {error > 0 ? rounded : -(1 - rounded), 0};
  }
};

struct MapeLoss {
  double Value(double raw, double label) const {
    return std::abs(label - raw) / std::max(1.0, std::abs(label));
  }
  RowDerivatives Derive(double raw, double label) const {
    const double step = 1 / std::max(1.0F, std::abs(static_cast<float>(label)));
    return {label > raw ? step : -step, 0};
  }
};

struct PoissonLoss {
  double Value(double raw, double label) const { return std::exp(raw) - label * raw; }
  RowDerivatives Derive(double raw, double label) const {
    const double mean = std::exp(raw);
    return {label - mean, -mean};
  }
};

struct TweedieLoss {
  double power = 1.5;

  double Value(double raw, double label) const {
    const double rounded = static_cast<float>(power);
    return std::exp((2 - rounded) * raw) / (2 - rounded) -
           label * std::exp((1 - rounded) * raw) / (1 - rounded);
  }
  RowDerivatives Derive(double raw, double label) const {
    const double of_label = label * std::exp((1 - power) * raw);
    const double of_raw = std::exp((2 - power) * raw);
    return {of_label - of_raw, (1 - power) * of_label - (2 - power) * of_raw};
  }
};

struct HuberLoss {
  double delta = 1;

  double Value(double raw, double label) const {
    const double rounded = static_cast<float>(delta);
    const double error = std::abs(label - raw);
    return error < rounded ? error * error / 2 : rounded * (error - rounded / 2);
  }
  RowDerivatives Derive(double raw, double label) const {
    const double error = label - raw;
    if (std::abs(error) < delta) return {error, -1};
    return {error > 0 ? delta : -delta, 0};
  }
};

struct ExpectileLoss {
  double alpha = 0.5;

  double Value(double raw, double label) const {
    const double error = label - raw;
    return (error > 0 ? alpha : 1 - alpha) * error * error;
  }
  RowDerivatives Derive(double raw, double label) const {
    const double error = label - raw;
    const double slope = 2 * (error > 0 ? alpha : 1 - alpha);
    return {slope * error, -slope};
  }
};

// Calls work(loss) with the functor of the loss, which has one output.
template <typename Work>
auto WithFitLoss(const LossSpec& loss, const Work& work) {
  switch (loss.type) {
    case FitLoss::kLogloss:
    case FitLoss::kCrossEntropy:
      return work(EntropyLoss());
    case FitLoss::kMae:
      return work(QuantileLoss{.alpha = 0.5, .delta = loss.delta, .scale = 2});
    case FitLoss::kQuantile:
      return work(QuantileLoss{.alpha = loss.alpha, .delta = loss.delta});
    case FitLoss::kMape:
      return work(MapeLoss());
    case FitLoss::kPoisson:
      return work(PoissonLoss());
    case FitLoss::kTweedie:
      return work(TweedieLoss{.power = loss.variance_power});
    case FitLoss::kHuber:
      return work(HuberLoss{.delta = loss.delta});
    case FitLoss::kExpectile:
      return work(ExpectileLoss{.alpha = static_cast<float>(loss.alpha)});
    case FitLoss::kMultiClass:
    case FitLoss::kMultiClassOneVsAll:  // WithClassLoss has these two
    case FitLoss::kRmse:
      break;
  }
  return work(RmseLoss());
}

}  // namespace strata
