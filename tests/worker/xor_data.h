// A data set that no linear model can learn: the label is the XOR of two slots' parities.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "base/random.h"

namespace strata {

// CSV without a header, columns left, right, label: `left` and `right` are texts such as "l17" and
// "r4", each of `values` many, drawn uniformly; the label is 1 where exactly one of the two numbers
// is odd.
inline std::string XorCsv(size_t rows, size_t values, uint64_t seed) {
  Random random(seed);
  std::string csv;
  for (size_t i = 0; i < rows; ++i) {
    const uint64_t left = random.Below(values);
    const uint64_t right = random.Below(values);
    csv += fmt::format("l{},r{},{}\n", left, right, (left ^ right) & 1);
  }
  return csv;
}

}  // namespace strata
