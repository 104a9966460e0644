// Sums of ExactUnits, held against those of wider numbers.
#include "kernels/tree/gradient/exact_units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace strata {
namespace {

// Of sizes that are far apart, some of them negative.
std::vector<double> Numbers(size_t count, uint64_t exponents, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> numbers;
  for (size_t i = 0; i < count; ++i) {
    const double number = static_cast<double>(static_cast<int64_t>(random())) * 0x1p-63;
    numbers.push_back(std::ldexp(number, static_cast<int>(random() % exponents)));
  }
  return numbers;
}

ExactRange RangeOf(const std::vector<double>& numbers) {
  ExactRange range;
  for (const double number : numbers) range.Add(number);
  return range;
}

int64_t SumOf(const ExactUnits& units, const std::vector<double>& numbers) {
  int64_t sum = 0;
  for (const double number : numbers) sum += units.Of(number);
  return sum;
}

TEST(ExactUnits, SumsAreThoseOfWiderNumbers) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    std::vector<double> numbers = Numbers(1 + 97 * (seed % 11), 1 + 3 * (seed % 13), seed);
    const ExactRange range = RangeOf(numbers);
    const ExactUnits units = ExactUnits::For(range.largest, numbers.size());
    long double expected = 0;
    for (const double number : numbers) expected += static_cast<long double>(number);
    const int64_t sum = SumOf(units, numbers);
    // Half a unit a number, and the last bit of the result.
    const double off = 0.5 * static_cast<double>(numbers.size()) / units.scale +
                       std::abs(static_cast<double>(expected)) * 0x1p-52;
    EXPECT_NEAR(units.Value(sum), static_cast<double>(expected), off) << "seed " << seed;
    EXPECT_LE(1 / units.scale, range.largest * static_cast<double>(numbers.size()) * 0x1p-59);

    std::ranges::shuffle(numbers, std::mt19937_64(seed));
    EXPECT_EQ(SumOf(units, numbers), sum) << "seed " << seed;
    EXPECT_EQ(RangeOf(numbers).largest, range.largest);
  }
}

// As many as the sum is made for, all of them the largest.
TEST(ExactUnits, SumsStayBelowTheirLimit) {
  for (const double largest : {1.0, 0x1.fffffffffffffp0, 3e-200, 1e300}) {
    for (const uint64_t count : {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{1} << 20,
                                 (uint64_t{1} << 20) + 1, uint64_t{1} << 40}) {
      const ExactUnits units = ExactUnits::For(largest, count);
      const __int128 sum = static_cast<__int128>(units.Of(largest)) * count;
      EXPECT_LT(sum, __int128{1} << 62) << largest << " x " << count;
      EXPECT_GE(sum, __int128{1} << 58) << largest << " x " << count;
      EXPECT_EQ(units.Of(-largest), -units.Of(largest));
    }
  }
}

TEST(ExactUnits, OneNumberStaysAsItIs) {
  for (const double number :
       {0.1, -7.25e100, 1e-290, std::numeric_limits<double>::max(), 0x1p-1023, -0x1p-1022, 0.0}) {
    const ExactUnits units = ExactUnits::For(std::abs(number), 1);
    EXPECT_EQ(units.Value(units.Of(number)), number);
  }
}

TEST(ExactUnits, NumbersBecomeTheNearestIntegers) {
  const ExactUnits units = {.scale = 4};
  EXPECT_EQ(units.Of(0.65), 3);
  EXPECT_EQ(units.Of(-0.65), -3);
  EXPECT_EQ(units.Of(0.55), 2);
  EXPECT_EQ(units.Value(-3), -0.75);
}

TEST(ExactUnits, NothingButZerosIsZero) {
  const ExactUnits units = ExactUnits::For(0, 1000);
  EXPECT_EQ(units.Of(0.0), 0);
  EXPECT_EQ(units.Of(-0.0), 0);
  EXPECT_EQ(units.Value(0), 0);
}

TEST(ExactUnits, WhatIsNotFiniteCountsAsZero) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double number : {infinity, -infinity, nan}) {
    EXPECT_EQ(ExactUnits::For(3, 5).Of(number), 0) << number;
    ExactRange range;
    range.Add(-2);
    EXPECT_TRUE(range.are_finite);
    range.Add(number);
    EXPECT_EQ(range.largest, 2) << number;
    EXPECT_FALSE(range.are_finite) << number;
    ExactRange all;
    all.Add(range);
    all.Add(ExactRange());
    EXPECT_EQ(all.largest, 2);
    EXPECT_FALSE(all.are_finite);
  }
}

}  // namespace
}  // namespace strata
