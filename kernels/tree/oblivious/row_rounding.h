// How gradients and weights of rows become integers that trees are grown from, the same on CPUs and
// GPUs.
#pragma once

#include <cmath>

#include "kernels/core/math.h"
#include "kernels/tree/gradient/fixed_point.h"
#include "strata/host_device.h"

namespace strata {

// What one unit is worth where numbers are rounded to 30 bits of the largest one; 1 / unit is
// finite.
STRATA_HD double Row32Unit(double largest) {
  const double unit = UnitFor(largest, kLevels32);
  return unit > 0x1p-1000 ? unit : 0x1p-1000;
}

// What is not finite counts as 0.
STRATA_HD int32_t ToRow32(double number, double units_per_one) {
  return RoundToUnits(std::fabs(number) < math::Infinity() ? number : 0, units_per_one, 0.5);
}

// The unit of the weights of rows, which are not negative.
struct WeightUnit {
  double unit = 1;
  bool is_only_weight = false;  // a weight is 0 or a unit

  // Of weights of which these are the largest and the least that is not 0.
  static WeightUnit For(double largest, double least) {
    if (least >= largest && largest > 0x1p-1000) return {largest, true};
    return {Row32Unit(largest), false};
  }
};

}  // namespace strata
