#include "kernels/tree/gradient/fixed_point.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace strata {
namespace {

TEST(FixedPoint, UnitIsTheSmallestPowerOfTwoThatFits) {
  for (const double largest : {1.0, 0.5, 32767.0, 32768.0, 3e-20, 7.3e12, 0.99997}) {
    for (const int32_t levels : {kLevels16, kLevels32}) {
      const double unit = UnitFor(largest, levels);
      int exponent = 0;
      EXPECT_EQ(std::frexp(unit, &exponent), 0.5) << "no power of two: " << unit;
      EXPECT_LE(largest / unit, levels);
      EXPECT_GT(largest / (unit / 2), levels) << "half would do for " << largest;
    }
  }
  EXPECT_EQ(UnitFor(0, kLevels16), 1);
}

TEST(FixedPoint, RoundingIsTheFloorOfValueAndChance) {
  Random random(1);
  for (int i = 0; i < 100000; ++i) {
    const double value = (random.Uniform() - 0.5) * 60000;
    const double chance = random.Uniform();
    EXPECT_EQ(RoundToUnits(value, 1, chance), static_cast<int32_t>(std::floor(value + chance)));
  }
  EXPECT_EQ(RoundToUnits(-3.0, 1, 0), -3);
  EXPECT_EQ(RoundToUnits(-32767, 1, 0.999), -32767);
  EXPECT_EQ(RoundToUnits(32767, 1, 0.999), 32767);
}

TEST(FixedPoint, StochasticRoundingKeepsTheMean) {
  double sum = 0;
  constexpr int kRows = 200000;
  for (int row = 0; row < kRows; ++row) {
    sum += RoundToUnits(2.3, 1, RowUniform(7, static_cast<uint64_t>(row)));
  }
  // The deviation of the mean is sqrt(0.3 * 0.7 / kRows) = 0.001; five of them.
  EXPECT_NEAR(sum / kRows, 2.3, 0.0051);
}

TEST(FixedPoint, PackedRowsAddUp) {
  Random random(2);
  uint64_t packed = 0;
  int64_t gradient = 0;
  int64_t hessian = 0;
  for (int i = 0; i < 65535; ++i) {
    // The worst case of one sign, then a mixed one.
    const int32_t g =
        i < 40000 ? -kLevels16 : static_cast<int32_t>(random.Below(65535)) - kLevels16;
    const int32_t h = i < 40000 ? kLevels16 : static_cast<int32_t>(random.Below(32768));
    packed += WidenRow16(PackRow16(g, h));
    gradient += g;
    hessian += h;
    ASSERT_EQ(GradientOf(packed), gradient);
    ASSERT_EQ(HessianOf(packed), hessian);
  }
}

}  // namespace
}  // namespace strata
