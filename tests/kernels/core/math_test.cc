#include "kernels/core/math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace strata {
namespace {

// Error of `found` in units of the last place of a double near `expected`.
double Ulps(double found, long double expected) {
  const double rounded = static_cast<double>(expected);
  if (found == rounded) return 0.0;
  const double unit = std::nextafter(std::fabs(rounded), INFINITY) - std::fabs(rounded);
  return static_cast<double>(std::fabs(static_cast<long double>(found) - expected) / unit);
}

double FloatUlps(float found, long double expected) {
  const float rounded = static_cast<float>(expected);
  const float unit = std::nextafter(std::fabs(rounded), INFINITY) - std::fabs(rounded);
  return static_cast<double>(std::fabs(static_cast<long double>(found) - expected) / unit);
}

// The worst error in ulp of `function` against `reference` over `count` numbers of [low, high).
template <typename Function, typename Reference>
double Worst(double low, double high, Function function, Reference reference) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> place(low, high);
  double worst = 0.0;
  for (int i = 0; i < 200'000; ++i) {
    const double x = place(random);
    worst = std::max(worst, Ulps(function(x), reference(static_cast<long double>(x))));
  }
  return worst;
}

const auto kExp = [](double x) { return math::Exp(x); };
const auto kLog = [](double x) { return math::Log(x); };
const auto kExpReference = [](long double x) { return std::exp(x); };
const auto kLogReference = [](long double x) { return std::log(x); };

TEST(MathTest, ExpIsWithinOneUlp) {
  EXPECT_LT(Worst(-708, 709.7, kExp, kExpReference), 1.0);
  EXPECT_LT(Worst(-1, 1, kExp, kExpReference), 1.0);
  EXPECT_LT(Worst(-1e-9, 1e-9, kExp, kExpReference), 0.51);
  EXPECT_LT(Worst(-745.1, -708.4, kExp, kExpReference), 1.0);  // subnormal results
}

TEST(MathTest, ExpAtItsEnds) {
  EXPECT_EQ(math::Exp(0.0), 1.0);
  EXPECT_EQ(math::Exp(710.0), INFINITY);
  EXPECT_EQ(math::Exp(double{INFINITY}), INFINITY);
  EXPECT_EQ(math::Exp(-746.0), 0.0);
  EXPECT_EQ(math::Exp(-double{INFINITY}), 0.0);
  EXPECT_TRUE(std::isnan(math::Exp(std::nan(""))));
  EXPECT_TRUE(std::isfinite(math::Exp(709.782712893384)));
}

TEST(MathTest, LogIsWithinOneUlp) {
  EXPECT_LT(Worst(1e-300, 1e300, kLog, kLogReference), 1.0);
  EXPECT_LT(Worst(0.5, 2, kLog, kLogReference), 1.0);
  EXPECT_LT(Worst(0.999, 1.001, kLog, kLogReference), 1.0);
  EXPECT_LT(Worst(5e-324, 2e-308, kLog, kLogReference), 1.0);
  // Every power of ten, for the exponents that a uniform draw does not meet.
  for (int i = -307; i <= 308; ++i) {
    const double x = std::pow(10.0, i);
    EXPECT_LT(Ulps(math::Log(x), std::log(static_cast<long double>(x))), 1.0) << x;
  }
}

TEST(MathTest, LogAtItsEnds) {
  EXPECT_EQ(math::Log(1.0), 0.0);
  EXPECT_EQ(math::Log(0.0), -INFINITY);
  EXPECT_EQ(math::Log(double{INFINITY}), INFINITY);
  EXPECT_TRUE(std::isnan(math::Log(-1.0)));
  EXPECT_TRUE(std::isnan(math::Log(std::nan(""))));
}

TEST(MathTest, SigmoidSoftplusAndLog1pAreWithinFewUlp) {
  const auto sigmoid = [](double x) { return math::Sigmoid(x); };
  const auto sigmoid_reference = [](long double x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_LT(Worst(-40, 40, sigmoid, sigmoid_reference), 3.0);
  EXPECT_LT(Worst(-700, 0, sigmoid, sigmoid_reference), 3.0);
  const auto softplus = [](double x) { return math::Softplus(x); };
  const auto softplus_reference = [](long double x) { return std::log1p(std::exp(x)); };
  EXPECT_LT(Worst(-40, 40, softplus, softplus_reference), 4.0);
  EXPECT_LT(Worst(-700, -30, softplus, softplus_reference), 4.0);
  const auto log1p = [](double x) { return math::Log1p(x); };
  const auto log1p_reference = [](long double x) { return std::log1p(x); };
  EXPECT_LT(Worst(-0.9, 10, log1p, log1p_reference), 3.0);
  EXPECT_LT(Worst(-1e-5, 1e-5, log1p, log1p_reference), 3.0);
  EXPECT_EQ(math::Sigmoid(1000.0), 1.0);
  EXPECT_EQ(math::Sigmoid(-1000.0), 0.0);
  EXPECT_EQ(math::Softplus(1000.0), 1000.0);
  EXPECT_EQ(math::Softplus(double{INFINITY}), INFINITY);
  EXPECT_EQ(math::Softplus(-double{INFINITY}), 0.0);
  EXPECT_TRUE(std::isnan(math::Sigmoid(std::nan(""))));
  EXPECT_TRUE(std::isnan(math::Softplus(std::nan(""))));
}

TEST(MathTest, FloatsAreRoundedOnce) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<float> place(-87.0F, 88.0F);
  double worst = 0.0;
  for (int i = 0; i < 200'000; ++i) {
    const float x = place(random);
    const long double wide = x;
    worst = std::max(worst, FloatUlps(math::Exp(x), std::exp(wide)));
    worst = std::max(worst, FloatUlps(math::Sigmoid(x), 1 / (1 + std::exp(-wide))));
    worst = std::max(worst, FloatUlps(math::Softplus(x), std::log1p(std::exp(wide))));
    worst = std::max(worst, FloatUlps(math::Log(std::fabs(x)), std::log(std::fabs(wide))));
  }
  EXPECT_LT(worst, 0.5001);
}

TEST(MathTest, CosAndSinOfTurns) {
  std::mt19937_64 random(13);
  std::uniform_real_distribution<double> place(-3.0, 3.0);
  constexpr long double kTwoPi = 6.283185307179586476925286766559L;
  double worst = 0.0;
  for (int i = 0; i < 200'000; ++i) {
    const double turns = place(random);
    const math::CosSin found = math::CosSinOfTurns(turns);
    const long double angle = kTwoPi * turns;
    worst = std::max(worst, static_cast<double>(std::fabs(found.cos - std::cos(angle))));
    worst = std::max(worst, static_cast<double>(std::fabs(found.sin - std::sin(angle))));
  }
  EXPECT_LT(worst, 2.3e-16);
  EXPECT_EQ(math::CosSinOfTurns(0.25).cos, 0.0);
  EXPECT_EQ(math::CosSinOfTurns(0.5).cos, -1.0);
  EXPECT_EQ(math::CosSinOfTurns(0.75).sin, -1.0);
}

TEST(MathTest, NormalsHaveTheRightMoments) {
  std::mt19937_64 random(17);
  constexpr int kPairs = 500'000;
  double sum = 0.0, squares = 0.0, cubes = 0.0, fourths = 0.0, products = 0.0;
  for (int i = 0; i < kPairs; ++i) {
    const math::NormalPair z = math::NormalsFromBits(random(), random());
    for (const double x : {z.first, z.second}) {
      sum += x;
      squares += x * x;
      cubes += x * x * x;
      fourths += x * x * x * x;
    }
    products += z.first * z.second;
  }
  // Bounds: five standard deviations of each mean over 10^6 draws.
  constexpr double kCount = 2.0 * kPairs;
  EXPECT_NEAR(sum / kCount, 0.0, 5e-3);
  EXPECT_NEAR(squares / kCount, 1.0, 5 * std::sqrt(2.0) * 1e-3);
  EXPECT_NEAR(cubes / kCount, 0.0, 5 * std::sqrt(15.0) * 1e-3);
  EXPECT_NEAR(fourths / kCount, 3.0, 5 * std::sqrt(96.0) * 1e-3);
  EXPECT_NEAR(products / kPairs, 0.0, 5 * std::sqrt(2.0) * 1e-3);
  // The extremes of the bits stay finite.
  EXPECT_NEAR(math::NormalsFromBits(0, 0).first, 8.57, 0.01);
  EXPECT_EQ(math::NormalsFromBits(UINT64_MAX, 0).first, 0.0);
}

TEST(MathTest, PowerAndFiniteness) {
  EXPECT_EQ(math::Power(0.5, 10), 1.0 / 1024.0);
  EXPECT_EQ(math::Power(3.0, 0), 1.0);
  EXPECT_NEAR(math::Power(0.999, 1000), std::pow(0.999, 1000), 1e-13);
  EXPECT_TRUE(math::IsFinite(std::numeric_limits<float>::max()));
  EXPECT_TRUE(math::IsFinite(-0.0F));
  EXPECT_FALSE(math::IsFinite(INFINITY));
  EXPECT_FALSE(math::IsFinite(-INFINITY));
  EXPECT_FALSE(math::IsFinite(NAN));
}

}  // namespace
}  // namespace strata
