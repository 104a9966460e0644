// Arithmetic of one split: leaf outputs and gains, after LightGBM (research: its
// feature_histogram.hpp). In double without contraction, so that host and device agree to the bit.
#pragma once

#include <cstdint>

#include "kernels/core/math.h"
#include "strata/host_device.h"

namespace strata {

// What LightGBM adds to hessians so that no division is by zero.
constexpr double kHessianEpsilon = 1e-15;

// What a split has to keep to, whatever the feature.
struct SplitRules {
  int64_t min_data_in_leaf = 20;
  double min_sum_hessian_in_leaf = 1e-3;
  double lambda_l1 = 0;
  double lambda_l2 = 0;
  double min_gain_to_split = 0;
  double max_delta_step = 0;  // of a leaf's output; 0: no bound
  double path_smooth = 0;     // how many rows a leaf needs to weigh as much as its parent; 0: none
  double cat_l2 = 10;
  double cat_smooth = 10;
  int32_t max_cat_to_onehot = 4;
  int32_t max_cat_threshold = 32;
  int64_t min_data_per_group = 100;
};

// Bounds of a leaf's output that monotone constraints have left.
struct OutputBounds {
  double min = -1.7976931348623157e308;
  double max = 1.7976931348623157e308;
};

STRATA_HD OutputBounds Narrower(const OutputBounds& a, const OutputBounds& b) {
  return {a.min > b.min ? a.min : b.min, a.max < b.max ? a.max : b.max};
}

// Of both children of a split.
struct ChildBounds {
  OutputBounds left;
  OutputBounds right;

  STRATA_HD bool can_be_kept() const { return left.min <= left.max && right.min <= right.max; }
};

// A leaf's parent, for path smoothing.
struct ParentLeaf {
  double output = 0;
};

STRATA_HD double SoftThreshold(double gradient, double l1) {
  const double size = (gradient < 0 ? -gradient : gradient) - l1;
  if (!(size > 0)) return 0;
  return gradient < 0 ? -size : size;
}

// The output of a leaf without bounds by its neighbours.
STRATA_HD double LeafOutput(double gradient, double hessian, double l2, int64_t rows,
                            const SplitRules& rules, double parent_output) {
  double output = -SoftThreshold(gradient, rules.lambda_l1) / (hessian + l2);
  if (rules.max_delta_step > 0) {
    if (output > rules.max_delta_step) output = rules.max_delta_step;
    if (output < -rules.max_delta_step) output = -rules.max_delta_step;
  }
  if (rules.path_smooth > 0) {
    const double weight = static_cast<double>(rows) / rules.path_smooth;
    output = output * weight / (weight + 1) + parent_output / (weight + 1);
  }
  return output;
}

STRATA_HD double Clamped(double output, const OutputBounds& bounds) {
  if (output < bounds.min) return bounds.min;
  return output > bounds.max ? bounds.max : output;
}

// What a leaf with this output takes off the loss (twice, as is usual).
STRATA_HD double GainGivenOutput(double gradient, double hessian, double l2,
                                 const SplitRules& rules, double output) {
  const double g = SoftThreshold(gradient, rules.lambda_l1);
  return -(2.0 * g * output + (hessian + l2) * output * output);
}

// Outputs are bent by more than the gradients: gains must be computed from them.
STRATA_HD bool BendsOutputs(const SplitRules& rules) {
  return rules.max_delta_step > 0 || rules.path_smooth > 0;
}

STRATA_HD double LeafGain(double gradient, double hessian, double l2, int64_t rows,
                          const SplitRules& rules, double parent_output) {
  if (!BendsOutputs(rules)) {
    const double g = SoftThreshold(gradient, rules.lambda_l1);
    return (g * g) / (hessian + l2);
  }
  return GainGivenOutput(gradient, hessian, l2, rules,
                         LeafOutput(gradient, hessian, l2, rows, rules, parent_output));
}

// A row count guessed from hessians: histograms carry none.
STRATA_HD int64_t RowsFromHessian(double hessian, double rows_per_hessian) {
  // LightGBM rounds so, and a GPU too. NOLINTNEXTLINE(bugprone-incorrect-roundings)
  return static_cast<int64_t>(hessian * rows_per_hessian + 0.5);
}

}  // namespace strata
