// ExactUnits: numbers as integers of one unit, so that their sums are the same in any order, on
// CPUs and on GPUs. ExactRange: what the unit is chosen by.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/tree/gradient/fixed_point.h"
#include "strata/host_device.h"

namespace strata {

// This is what a sum has to know of its numbers beforehand. They come in any order.
struct ExactRange {
  double largest = 0;      // the size of the largest number that is finite
  bool are_finite = true;  // all numbers

  STRATA_HD void Add(double number) {
    const double size = std::fabs(number);
    const bool is_finite = size < math::Infinity();
    largest = is_finite && size > largest ? size : largest;
    are_finite &= is_finite;
  }
  STRATA_HD void Add(const ExactRange& other) {
    largest = other.largest > largest ? other.largest : largest;
    are_finite &= other.are_finite;
  }
};

// The unit is as small as a sum of all numbers allows, which is to stay below 2^62: that of a
// million numbers is at most 2^-40 of the largest one. It is at least 2^-1023.
struct ExactUnits {
  double scale = 1;  // units of a number of 1; a power of two

  // Returns the units of at most so many numbers, whose sizes are finite and no larger than
  // `largest`.
  STRATA_HD static ExactUnits For(double largest, uint64_t count) {
    int of_largest = 0;
    (void)std::frexp(largest > 0 ? largest : 1.0, &of_largest);
    int of_count = 0;
    while (of_count < 62 && uint64_t{1} << of_count < count) ++of_count;
    const int exponent = 61 - of_count - of_largest;
    return {std::ldexp(1.0, exponent < 1023 ? exponent : 1023)};
  }
  // The nearest integer. A number that is not finite counts as 0.
  STRATA_HD int64_t Of(double number) const {
    const double scaled = number * scale;
    return std::fabs(scaled) <= 0x1p62 ? static_cast<int64_t>(std::llrint(scaled)) : 0;
  }
  // Returns the double that is nearest to a sum of integers.
  STRATA_HD double Value(int64_t sum) const { return ToDouble(sum) / scale; }
};

}  // namespace strata
