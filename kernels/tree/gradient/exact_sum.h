// ExactSum: the sum of doubles as a 128-bit integer, the same in whatever order they come and over
// however many ranks and threads. ExactWeights: the same for weights that are compared while they
// are added up.
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

// Weights as integers of one unit, as fine as sums of all of them below 2^62 allow: those of a
// million rows are exact down to 2^-17 of the largest one.
struct ExactWeights {
  double scale = 1;  // of a weight of 1; a power of two

  // Of at most so many weights, none above the largest.
  static ExactWeights For(double largest, uint64_t count) {
    int of_largest = 0;
    (void)std::frexp(largest > 0 ? largest : 1.0, &of_largest);
    int of_count = 0;
    while (of_count < 62 && uint64_t{1} << of_count < count) ++of_count;
    return {std::ldexp(1.0, 61 - of_count - of_largest)};
  }
  STRATA_HD uint64_t Of(double weight) const {
    return static_cast<uint64_t>(std::llrint(weight * scale));
  }
};

}  // namespace strata
