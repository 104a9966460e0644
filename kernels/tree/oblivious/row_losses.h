// The losses of one output that CatBoost's oblivious trees are trained for: the value and the
// derivatives of a row, in double (private/libs/algo_helpers/error_functions.h and
// libs/metrics/metric.cpp of its sources). CPUs and GPUs get the same bits. Some parameters are
// rounded to float where CatBoost rounds them.
#pragma once

#include <cmath>
#include <variant>

#include "kernels/core/math.h"
#include "strata/host_device.h"

namespace strata {

// Of minus the loss by the raw value, as CatBoost has them: the first one says where to go.
struct RowDerivatives {
  double first = 0;
  double second = 0;
};

struct RmseLoss {
  STRATA_HD double Value(double raw, double label) const { return (label - raw) * (label - raw); }
  STRATA_HD RowDerivatives Derive(double raw, double label) const { return {label - raw, -1}; }
};

// Logloss, where labels are 0 and 1, and CrossEntropy, where they are probabilities.
struct EntropyLoss {
  STRATA_HD double Value(double raw, double label) const {
    return math::Softplus(raw) - label * raw;
  }
  STRATA_HD RowDerivatives Derive(double raw, double label) const {
    const double p = math::Sigmoid(raw);
    return {label - p, -p * (1 - p)};
  }
};

// An error below `delta` is none.
struct QuantileLoss {
  double alpha = 0.5;
  double delta = 0;
  double scale = 1;  // of the value: MAE is twice the loss of alpha = 0.5

  STRATA_HD double Value(double raw, double label) const {
    const double error = label - raw;
    if (std::fabs(error) < delta) return 0;
    return scale * (error > 0 ? alpha * (error - delta) : -(1 - alpha) * (error + delta));
  }
  STRATA_HD RowDerivatives Derive(double raw, double label) const {
    const double error = label - raw;
    if (std::fabs(error) < delta) return {};
    const double rounded = static_cast<float>(alpha);
    return {error > 0 ? rounded : -(1 - rounded), 0};
  }
};

struct MapeLoss {
  STRATA_HD double Value(double raw, double label) const {
    const double size = std::fabs(label);
    return std::fabs(label - raw) / (size > 1 ? size : 1);
  }
  STRATA_HD RowDerivatives Derive(double raw, double label) const {
    const float size = std::fabs(static_cast<float>(label));
    const double step = 1 / (size > 1 ? size : 1);
    return {label > raw ? step : -step, 0};
  }
};

struct PoissonLoss {
  STRATA_HD double Value(double raw, double label) const { return math::Exp(raw) - label * raw; }
  STRATA_HD RowDerivatives Derive(double raw, double label) const {
    const double mean = math::Exp(raw);
    return {label - mean, -mean};
  }
};

struct TweedieLoss {
  double power = 1.5;

  STRATA_HD double Value(double raw, double label) const {
    const double rounded = static_cast<float>(power);
    return math::Exp((2 - rounded) * raw) / (2 - rounded) -
           label * math::Exp((1 - rounded) * raw) / (1 - rounded);
  }
  STRATA_HD RowDerivatives Derive(double raw, double label) const {
    const double of_label = label * math::Exp((1 - power) * raw);
    const double of_raw = math::Exp((2 - power) * raw);
    return {of_label - of_raw, (1 - power) * of_label - (2 - power) * of_raw};
  }
};

struct HuberLoss {
  double delta = 1;

  STRATA_HD double Value(double raw, double label) const {
    const double rounded = static_cast<float>(delta);
    const double error = std::fabs(label - raw);
    return error < rounded ? error * error / 2 : rounded * (error - rounded / 2);
  }
  STRATA_HD RowDerivatives Derive(double raw, double label) const {
    const double error = label - raw;
    if (std::fabs(error) < delta) return {error, -1};
    return {error > 0 ? delta : -delta, 0};
  }
};

struct ExpectileLoss {
  double alpha = 0.5;

  STRATA_HD double Value(double raw, double label) const {
    const double error = label - raw;
    return (error > 0 ? alpha : 1 - alpha) * error * error;
  }
  STRATA_HD RowDerivatives Derive(double raw, double label) const {
    const double error = label - raw;
    const double slope = 2 * (error > 0 ? alpha : 1 - alpha);
    return {slope * error, -slope};
  }
};

using ObliviousLoss = std::variant<RmseLoss, EntropyLoss, QuantileLoss, MapeLoss, PoissonLoss,
                                   TweedieLoss, HuberLoss, ExpectileLoss>;

}  // namespace strata
