// These functions say what a split of a leaf adds to its score, the same to the bit on CPUs and
// GPUs. The formulas are those of CatBoost (private/libs/algo/score_calcers.* of its sources).
#pragma once

#include "kernels/core/math.h"
#include "kernels/tree/gradient/fixed_point.h"
#include "strata/host_device.h"

namespace strata {

// Adds both sides of a leaf, of which one is given and `all` are both. A side has the value a = G /
// (W + l2), or 0 without weights; it adds a * G to the gain and a * a * W to the norm. `l2` is
// above 0.
STRATA_HD void AddSides(const GradientSums& side, const GradientSums& all,
                        const GradientUnits& units, double l2, double* gain, double* norm) {
  const double g = ToDoubleByHalves(side.gradient) * units.gradient;
  const double w = ToDoubleByHalves(side.hessian) * units.hessian;
  const double other_g = ToDoubleByHalves(all.gradient - side.gradient) * units.gradient;
  const double other_w = ToDoubleByHalves(all.hessian - side.hessian) * units.hessian;
  const double quotient = g / (w + l2);
  const double other_quotient = other_g / (other_w + l2);
  const double value = w > 0 ? quotient : 0;
  const double other = other_w > 0 ? other_quotient : 0;
  *gain += value * g + other * other_g;
  *norm += value * value * w + other * other * other_w;
}

// Cosine: gain / sqrt(1e-100 + norm). L2: the gain.
STRATA_HD double SplitScore(double gain, double norm, bool is_cosine) {
  return is_cosine ? gain / math::Sqrt(1e-100 + norm) : gain;
}

}  // namespace strata
