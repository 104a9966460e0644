// ExactSum: the sum of doubles as a 128-bit integer, the same in whatever order they come and over
// however many ranks.
#pragma once

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
  double Value() const { return std::ldexp(static_cast<double>(sum_), unit_exponent_); }

 private:
  __extension__ using Wide = __int128;
  Wide sum_ = 0;
  int unit_exponent_ = 0;
};

}  // namespace strata
