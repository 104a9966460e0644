// Sums over a row in one order for every device, that of a warp: lane l adds up the elements l,
// l + 32, l + 64, ..., then lanes are added in pairs 16, 8, 4, 2 and 1 apart. In double, where the
// squares of floats are exact.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strata {

constexpr uint32_t kSumLanes = 32;

// The sum of the squares of element(0) to element(count - 1), floats. The device's counterpart is
// in kernels/hashmap/update.cu.
template <typename Element>
double SumOfSquares(size_t count, const Element& element) {
  double lanes[kSumLanes] = {};
  const auto add = [&](size_t begin, size_t size) {
    for (size_t l = 0; l < size; ++l) {
      const double x = element(begin + l);
      lanes[l] += x * x;
    }
  };
  size_t begin = 0;
  for (; begin + kSumLanes <= count; begin += kSumLanes) add(begin, kSumLanes);
  add(begin, count - begin);
  for (uint32_t apart = kSumLanes / 2; apart > 0; apart /= 2) {
    for (uint32_t l = 0; l < apart; ++l) lanes[l] += lanes[l + apart];
  }
  return lanes[0];
}

}  // namespace strata
