// Losses of one row: gradient and hessian by score, LightGBM's formulas (its src/objective). In
// double with our own exp, so that host and device agree to the bit.
#pragma once

#include <cstdint>

#include "kernels/core/math.h"
#include "strata/host_device.h"

namespace strata {

struct LossSlope {
  double gradient = 0;
  double hessian = 0;
};

namespace loss {

STRATA_HD double SignOf(double x) { return static_cast<double>((x > 0) - (x < 0)); }
STRATA_HD double SizeOf(double x) { return x < 0 ? -x : x; }

struct SquaredError {
  STRATA_HD LossSlope operator()(double score, double label) const { return {score - label, 1}; }
};

struct AbsoluteError {
  STRATA_HD LossSlope operator()(double score, double label) const {
    return {SignOf(score - label), 1};
  }
};

struct Huber {
  double alpha;
  STRATA_HD LossSlope operator()(double score, double label) const {
    const double off = score - label;
    return {SizeOf(off) <= alpha ? off : SignOf(off) * alpha, 1};
  }
};

struct Fair {
  double c;
  STRATA_HD LossSlope operator()(double score, double label) const {
    const double off = score - label;
    const double base = SizeOf(off) + c;
    return {c * off / base, c * c / (base * base)};
  }
};

struct Poisson {
  double max_delta_step;
  STRATA_HD LossSlope operator()(double score, double label) const {
    return {math::Exp(score) - label, math::Exp(score + max_delta_step)};
  }
};

struct Quantile {
  double alpha;
  STRATA_HD LossSlope operator()(double score, double label) const {
    return {score >= label ? 1 - alpha : -alpha, 1};
  }
};

struct AbsolutePercentageError {
  STRATA_HD LossSlope operator()(double score, double label) const {
    const double size = SizeOf(label);
    return {SignOf(score - label) / (size > 1 ? size : 1), 1};
  }
};

struct Gamma {
  STRATA_HD LossSlope operator()(double score, double label) const {
    const double quotient = label * math::Exp(-score);
    return {1 - quotient, quotient};
  }
};

struct Tweedie {
  double rho;
  STRATA_HD LossSlope operator()(double score, double label) const {
    const double a = math::Exp((1 - rho) * score);
    const double b = math::Exp((2 - rho) * score);
    return {b - label * a, (2 - rho) * b - label * (1 - rho) * a};
  }
};

// What rows of the two sides weigh.
struct SideWeights {
  double negative = 1;
  double positive = 1;
};

// Labels above 0 are positive.
struct BinaryLogistic {
  double sigmoid;
  SideWeights weights = {};
  STRATA_HD LossSlope operator()(double score, double label) const {
    const double sign = label > 0 ? 1 : -1;
    const double weight = label > 0 ? weights.positive : weights.negative;
    const double response = -sign * sigmoid / (1 + math::Exp(sign * sigmoid * score));
    const double size = SizeOf(response);
    return {response * weight, size * (sigmoid - size) * weight};
  }
};

// Labels are probabilities.
struct CrossEntropy {
  STRATA_HD LossSlope operator()(double score, double label) const {
    const double p = math::Sigmoid(score);
    return {p - label, p * (1 - p)};
  }
};

// Of all classes at once: gradients by the softmax of a row's scores (J. Friedman, "Greedy function
// approximation", 2001), hessians with K / (K - 1) of P. Li's ABC-Boost.
struct Softmax {
  uint32_t classes;

  // Of one class, from its share of the sum of e^score.
  STRATA_HD LossSlope operator()(double share, bool is_label) const {
    const double factor = static_cast<double>(classes) / static_cast<double>(classes - 1);
    return {is_label ? share - 1 : share, factor * share * (1 - share)};
  }
};

// Each class against all others.
struct OneVsAll {
  uint32_t classes;
  double sigmoid;
  const SideWeights* weights;  // of each class, in the memory of who computes the slopes

  STRATA_HD LossSlope operator()(double score, bool is_label, uint32_t k) const {
    return BinaryLogistic{sigmoid, weights[k]}(score, is_label ? 1 : 0);
  }
};

}  // namespace loss
}  // namespace strata
