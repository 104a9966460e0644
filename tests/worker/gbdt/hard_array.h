// An array of numbers with all that loading has rules for, for tests.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/random.h"
#include "tests/worker/gbdt/npy_text.h"
#include "worker/gbdt/data/bin_mapper.h"

namespace strata {

// Of one feature.
inline double HardValue(Random& random, size_t feature) {
  const double plain = random.Uniform() * 2 - 1;
  switch (feature % 8) {
    case 1:  // zeros of all kinds, and what is just none
      if (random.Chance(0.1)) return random.Chance(0.5) ? kZeroThreshold : -kZeroThreshold;
      if (random.Chance(0.1)) return random.Chance(0.5) ? 2 * kZeroThreshold : -2 * kZeroThreshold;
      return random.Chance(0.3) ? (random.Chance(0.5) ? -0.0 : 1e-36) : plain;
    case 2:
      return random.Chance(0.2) ? std::numeric_limits<double>::quiet_NaN() : plain;
    case 3:
      return static_cast<double>(random.Below(5));
    case 4:
      if (random.Chance(0.02)) return std::numeric_limits<double>::infinity();
      return random.Chance(0.02) ? -std::numeric_limits<double>::infinity() : plain * 1e30;
    case 5:
      return 7;  // cannot be split
    case 6:
      return random.Chance(0.9) ? 0 : plain;
    default:
      return plain;
  }
}

// The label, a weight, features. Floats, or doubles that are none.
template <typename T>
std::string HardArray(uint64_t seed, size_t rows, size_t features) {
  Random random(seed);
  std::vector<T> values;
  for (size_t row = 0; row < rows; ++row) {
    values.push_back(static_cast<T>(random.Below(2)));
    values.push_back(static_cast<T>(random.Below(4) + 1));
    for (size_t f = 0; f < features; ++f) values.push_back(static_cast<T>(HardValue(random, f)));
  }
  const char* const kind = sizeof(T) == sizeof(float) ? "<f4" : "<f8";
  return NpyText(NpyHeader(kind, fmt::format("({}, {})", rows, features + 2)), values);
}

}  // namespace strata
