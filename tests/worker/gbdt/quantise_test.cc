#include "worker/gbdt/engine/quantise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/worker/gbdt/labelled_rows.h"

namespace strata {
namespace {

constexpr size_t kRows = 300;

struct Stored {
  std::vector<int64_t> gradients;
  std::vector<int64_t> hessians;
  GradientUnits units;
  uint64_t not_finite = 0;
};

Stored Quantise(const std::vector<float>& gradients, const std::vector<float>& hessians,
                const QuantiseOptions& options, uint64_t round = 0, int threads = 0) {
  QuantisedGradients quantised;
  Stored stored;
  stored.not_finite =
      quantised.Quantise(gradients, hessians, options, round, RowShare(), *PoolOf(threads));
  stored.units = quantised.units();
  for (const uint32_t row : quantised.view().rows16) {
    stored.gradients.push_back(GradientOf(WidenRow16(row)));
    stored.hessians.push_back(HessianOf(WidenRow16(row)));
  }
  for (const Row32& row : quantised.view().rows32) {
    stored.gradients.push_back(row.gradient);
    stored.hessians.push_back(row.hessian);
  }
  return stored;
}

class QuantiseTest : public testing::Test {
 protected:
  const std::vector<float> gradients_ = RandomFloats(kRows, -3, 3, 1);
  const std::vector<float> hessians_ = RandomFloats(kRows, 0, 0.25, 2);
};

TEST_F(QuantiseTest, NumbersAreWithinOneUnitAndTheLargestLevel) {
  const QuantiseOptions kinds[] = {{.width = GradientWidth::k16},
                                   {.width = GradientWidth::k32},
                                   {.width = GradientWidth::k16, .bins = 4}};
  for (const QuantiseOptions& options : kinds) {
    const Stored stored = Quantise(gradients_, hessians_, options);
    // To the nearest where 32 bits are kept, up or down where chance decides.
    const double most = options.width == GradientWidth::k32 ? 0.5 : 1;
    for (size_t row = 0; row < kRows; ++row) {
      const double gradient = static_cast<double>(stored.gradients[row]) * stored.units.gradient;
      const double hessian = static_cast<double>(stored.hessians[row]) * stored.units.hessian;
      EXPECT_LE(std::fabs(gradient - gradients_[row]), most * stored.units.gradient);
      EXPECT_LE(std::fabs(hessian - hessians_[row]), most * stored.units.hessian);
      EXPECT_LE(std::abs(stored.gradients[row]), options.LargestLevel());
      EXPECT_LE(stored.hessians[row], options.LargestLevel());
      EXPECT_GE(stored.hessians[row], 0);
    }
  }
}

// The mean over many rounds comes to the number itself: 4 of its standard errors at most.
TEST_F(QuantiseTest, StochasticRoundingKeepsTheMean) {
  constexpr size_t kRounds = 2000;
  const QuantiseOptions options = {.width = GradientWidth::k16, .bins = 4, .seed = 9};
  std::vector<double> sums(kRows);
  GradientUnits units;
  for (size_t round = 0; round < kRounds; ++round) {
    const Stored stored = Quantise(gradients_, hessians_, options, round);
    units = stored.units;
    for (size_t row = 0; row < kRows; ++row)
      sums[row] += static_cast<double>(stored.gradients[row]);
  }
  double off = 0;
  for (size_t row = 0; row < kRows; ++row) {
    const double mean = sums[row] / kRounds * units.gradient;
    EXPECT_NEAR(mean, gradients_[row], 4.5 * 0.5 * units.gradient / std::sqrt(kRounds));
    off += (mean - gradients_[row]) / units.gradient;
  }
  EXPECT_LT(std::fabs(off), 4 * 0.5 * std::sqrt(kRows) / std::sqrt(kRounds));
}

TEST_F(QuantiseTest, WithoutChanceNumbersGoToTheNearest) {
  for (const int64_t bins : {0, 4, 63}) {
    const QuantiseOptions options = {
        .width = GradientWidth::k16, .bins = bins, .stochastic = false};
    const Stored stored = Quantise(gradients_, hessians_, options, 5);
    for (size_t row = 0; row < kRows; ++row) {
      EXPECT_EQ(stored.gradients[row], std::floor(gradients_[row] / stored.units.gradient + 0.5));
      EXPECT_EQ(stored.hessians[row], std::floor(hessians_[row] / stored.units.hessian + 0.5));
    }
  }
}

TEST_F(QuantiseTest, ThreadsDoNotMatterButSeedAndRoundDo) {
  const std::vector<float> gradients = RandomFloats(200000, -3, 3, 1);
  const std::vector<float> hessians = RandomFloats(200000, 0, 1, 2);
  const QuantiseOptions options = {.width = GradientWidth::k16, .seed = 7};
  const Stored one = Quantise(gradients, hessians, options, 3, 0);
  const Stored four = Quantise(gradients, hessians, options, 3, 3);
  EXPECT_EQ(one.gradients, four.gradients);
  EXPECT_EQ(one.hessians, four.hessians);
  EXPECT_NE(one.gradients, Quantise(gradients, hessians, options, 4).gradients);
  const QuantiseOptions other = {.width = GradientWidth::k16, .seed = 8};
  EXPECT_NE(one.gradients, Quantise(gradients, hessians, other, 3).gradients);
}

TEST_F(QuantiseTest, WhatIsNotFiniteIsCountedAndLeftOut) {
  std::vector<float> gradients = gradients_;
  gradients[5] = std::numeric_limits<float>::quiet_NaN();
  gradients[9] = std::numeric_limits<float>::infinity();
  std::vector<float> hessians = hessians_;
  hessians[9] = std::numeric_limits<float>::infinity();
  hessians[11] = std::numeric_limits<float>::quiet_NaN();
  const Stored stored = Quantise(gradients, hessians, {.width = GradientWidth::k32});
  EXPECT_EQ(stored.not_finite, 3U);
  for (const size_t row : {5U, 9U, 11U}) {
    EXPECT_EQ(stored.gradients[row], 0);
    EXPECT_EQ(stored.hessians[row], 0);
  }
  EXPECT_EQ(Quantise(gradients_, hessians_, {.width = GradientWidth::k32}).not_finite, 0U);
}

TEST_F(QuantiseTest, NothingToTellApartIsAllZeros) {
  const std::vector<float> zeros(kRows, 0);
  const Stored stored = Quantise(zeros, zeros, {.width = GradientWidth::k16});
  EXPECT_EQ(stored.gradients, std::vector<int64_t>(kRows, 0));
  EXPECT_EQ(stored.hessians, std::vector<int64_t>(kRows, 0));
}

}  // namespace
}  // namespace strata
