// Sums over a row in one order for every device, that of a warp whose lanes have four neighbouring
// elements each: four squares a + b and c + d, lane l the fours l, l + 32, l + 64, ... one after
// the other, then lanes in pairs 16, 8, 4, 2 and 1 apart. In double, where the squares of floats
// are exact.
#pragma once

#include <cstddef>
#include <cstdint>

#include "strata/host_device.h"

namespace strata {

constexpr uint32_t kSumLanes = 32;

STRATA_HD double SumOfFourSquares(double a, double b, double c, double d) {
  return (a * a + b * b) + (c * c + d * d);
}

// The sum of the squares of element(0) to element(count - 1), floats. The device's counterpart is
// in kernels/sparse/update.cu.
template <typename Element>
double SumOfSquares(size_t count, const Element& element) {
  double lanes[kSumLanes] = {};
  size_t e = 0;
  for (; e + 4 <= count; e += 4) {
    lanes[e / 4 % kSumLanes] +=
        SumOfFourSquares(element(e), element(e + 1), element(e + 2), element(e + 3));
  }
  if (e < count) {
    const auto at = [&](size_t i) { return i < count ? element(i) : 0.0F; };
    lanes[e / 4 % kSumLanes] += SumOfFourSquares(at(e), at(e + 1), at(e + 2), 0.0);
  }
  for (uint32_t apart = kSumLanes / 2; apart > 0; apart /= 2) {
    for (uint32_t l = 0; l < apart; ++l) lanes[l] += lanes[l + apart];
  }
  return lanes[0];
}

}  // namespace strata
