// How far two vectors are apart.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace strata {

// The distance of two vectors of one size, as a share of the second one's length.
inline double RelativeDistance(const std::vector<float>& found,
                               const std::vector<float>& expected) {
  double apart = 0;
  double length = 1e-12;
  for (size_t i = 0; i < found.size(); ++i) {
    apart += std::pow(double{found[i]} - expected[i], 2);
    length += std::pow(double{expected[i]}, 2);
  }
  return std::sqrt(apart / length);
}

}  // namespace strata
