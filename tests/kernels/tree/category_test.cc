#include "kernels/tree/bins/category.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace strata {
namespace {

TEST(CategoryOf, IsTheValueWithoutItsFraction) {
  for (const double zero : {0.0, -0.0, -1e-40, -0.5, std::nextafter(-1.0, 0.0), 0.5}) {
    EXPECT_EQ(CategoryOf(zero), 0) << zero;
  }
  EXPECT_EQ(CategoryOf(1), 1);
  EXPECT_EQ(CategoryOf(std::nextafter(2.0, 0.0)), 1);
  EXPECT_EQ(CategoryOf(16777216), 1 << 24);
  EXPECT_EQ(CategoryOf(2147483647), 2147483647);
  EXPECT_EQ(CategoryOf(2147483647.5), 2147483647);
}

TEST(CategoryOf, OtherValuesAreNone) {
  constexpr double kLargest = std::numeric_limits<double>::infinity();
  for (const double none : {-1.0, -2.0, -kLargest, 2147483648.0, 1e300, kLargest,
                            std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(CategoryOf(none), kNoCategory) << none;
  }
}

}  // namespace
}  // namespace strata
