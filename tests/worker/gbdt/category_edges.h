// Values of a categorical feature that tests try.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

namespace strata {

// Values around whole numbers and the ends of what is a category.
inline std::vector<double> CategoryEdges() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {0.0,
          -0.0,
          -1e-30,
          -0.5,
          std::nextafter(-1.0, 0.0),
          -1,
          std::nextafter(-1.0, -2.0),
          -2,
          0.5,
          std::nextafter(1.0, 0.0),
          1,
          1.5,
          std::nextafter(2.0, 0.0),
          2,
          2.5,
          3,
          16777215,
          16777216,
          2147483647,
          2147483647.5,
          2147483648.0,
          1e300,
          kInfinity,
          -kInfinity,
          std::numeric_limits<double>::quiet_NaN()};
}

}  // namespace strata
