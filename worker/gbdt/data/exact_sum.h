// ExactSum: the sum of doubles as a 128-bit integer, the same in whatever order they come and over
// however many ranks.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace strata {

class ExactSum {
 public:
  // `largest` is no less than the size of any number to be added. Numbers are rounded to
  // largest * 2^-60.
  explicit ExactSum(double largest) {
    int exponent = 0;
    std::frexp(largest > 0 ? largest : 1.0, &exponent);
    unit_exponent_ = exponent - 60;
  }

  void Add(double number) {
    sum_ += static_cast<Wide>(std::llrint(std::ldexp(number, -unit_exponent_)));
  }
  // A sum with the same `largest`.
  void Add(const ExactSum& other) { sum_ += other.sum_; }
  double Value() const { return std::ldexp(static_cast<double>(sum_), unit_exponent_); }

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
  __extension__ using Wide = __int128;
  static constexpr Wide kPartSize = Wide{1} << 48;
  static constexpr Wide kPartMask = kPartSize - 1;
  Wide sum_ = 0;
  int unit_exponent_ = 0;
};

}  // namespace strata
