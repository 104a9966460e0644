// ExactSum: the sum of doubles as a 128-bit integer, the same in whatever order they come and over
// however many ranks and threads.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "strata/host_device.h"

namespace strata {

class ExactSum {
 public:
  // `largest` is no less than the size of any number to be added. Numbers are rounded to
  // largest * 2^-60.
  explicit ExactSum(double largest) : unit_exponent_(UnitExponentFor(largest)) {}

  void Add(double number) { sum_ += static_cast<Wide>(Rounded(number, unit_exponent_)); }
  // A sum with the same `largest`.
  void Add(const ExactSum& other) { sum_ += other.sum_; }
  double Value() const { return std::ldexp(static_cast<double>(sum_), unit_exponent_); }

  // What a sum is made of, for those who add up elsewhere: integers of 2^exponent each.
  STRATA_HD static int UnitExponentFor(double largest) {
    int exponent = 0;
    (void)std::frexp(largest > 0 ? largest : 1.0, &exponent);
    return exponent - 60;
  }
  STRATA_HD static int64_t Rounded(double number, int unit_exponent) {
    return std::llrint(std::ldexp(number, -unit_exponent));
  }
  // Of integers whose upper halves (with the sign) and lower halves, of 32 bits, were added up.
  void SetHalves(int64_t upper, uint64_t lower) {
    sum_ = (static_cast<Wide>(upper) << 32) + static_cast<Wide>(lower);
  }

  // The sum in parts of 48 bits. Sums of the parts of up to 32,768 sums that have the same
  // `largest` are the parts of their sum.
  using Parts = std::array<int64_t, 3>;
  Parts parts() const {
    return {static_cast<int64_t>(sum_ & kPartMask), static_cast<int64_t>((sum_ >> 48) & kPartMask),
            static_cast<int64_t>(sum_ >> 96)};
  }
  void SetParts(const Parts& parts) {
    sum_ = (static_cast<Wide>(parts[2]) * kPartSize + parts[1]) * kPartSize + parts[0];
  }

 private:
  using Wide = __int128;
  static constexpr Wide kPartSize = Wide{1} << 48;
  static constexpr Wide kPartMask = kPartSize - 1;
  Wide sum_ = 0;
  int unit_exponent_ = 0;
};

// Of the gradients and hessians of a leaf's rows, as they were before they were rounded.
struct ExactSlopes {
  ExactSum gradient;
  ExactSum hessian;
};

}  // namespace strata
