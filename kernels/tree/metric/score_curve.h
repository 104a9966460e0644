// Areas under curves over thresholds of the score, from sums of weights as integers (ExactUnits),
// so that host and device, in any order, agree to the bit.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/core/math.h"
#include "kernels/tree/gradient/exact_sum.h"
#include "strata/host_device.h"

namespace strata {

// Weights of the rows of a threshold's score and above it.
struct CurvePoint {
  uint64_t positive;
  uint64_t negative;
};

using WideArea = unsigned __int128;

// Between two thresholds, the higher one first: twice the area under the receiver operating
// characteristic. All of it is below 2^125.
STRATA_HD WideArea RocArea(const CurvePoint& from, const CurvePoint& to) {
  return WideArea{to.negative - from.negative} * (to.positive + from.positive);
}
// The chance that a positive row has a higher score than a negative one; 1 where one kind is not
// there. `all`: the last threshold.
inline double RocAreaOf(WideArea twice, const CurvePoint& all) {
  if (all.positive == 0 || all.negative == 0) return 1;
  return static_cast<double>(twice) * 0.5 /
         (static_cast<double>(all.positive) * static_cast<double>(all.negative));
}

// The area under precision by recall: integers of 2^kPrecisionUnit, whose sum is the area.
constexpr int kPrecisionUnit = -60;
STRATA_HD int64_t PrecisionArea(const CurvePoint& from, const CurvePoint& to, uint64_t positives) {
  if (to.positive == from.positive) return 0;
  const double recall =
      static_cast<double>(to.positive - from.positive) / static_cast<double>(positives);
  const double precision =
      static_cast<double>(to.positive) / static_cast<double>(to.positive + to.negative);
  return ExactSum::Rounded(recall * precision, kPrecisionUnit);
}
inline double PrecisionAreaOf(int64_t sum, const CurvePoint& all) {
  return all.positive > 0 ? std::ldexp(static_cast<double>(sum), kPrecisionUnit) : 1;
}

// Keys that ascend as scores descend; equal scores, which both zeros are, have equal ones.
STRATA_HD uint64_t DescendingKey(double score) {
  const uint64_t bits = math::BitsOf(score == 0 ? 0.0 : score);
  return bits >> 63 != 0 ? bits : ~(bits | uint64_t{1} << 63);
}

}  // namespace strata
