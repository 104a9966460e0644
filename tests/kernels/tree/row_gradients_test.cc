#include "kernels/tree/gradient/row_gradients.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "kernels/core/math.h"
#include "kernels/tree/gradient/losses.h"

namespace strata {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<uint32_t> BitsOf(const std::vector<float>& numbers) {
  std::vector<uint32_t> bits;
  for (const float number : numbers) {
    bits.push_back(std::isnan(number) ? 0x7fc00000U : std::bit_cast<uint32_t>(number));
  }
  return bits;
}

// Scores where exp overflows, vanishes or is not a number among them; an odd number of rows.
struct Rows {
  Rows() {
    Random random(17);
    for (size_t row = 0; row < 1003; ++row) {
      const double size = row % 5 == 0 ? 1600 : 12;
      scores.push_back((random.Uniform() - 0.5) * size);
      labels.push_back(static_cast<float>(random.Below(3)));
      weights.push_back(static_cast<float>(random.Uniform()) * 4);
    }
    scores[3] = std::numeric_limits<double>::quiet_NaN();
    scores[4] = std::numeric_limits<double>::infinity();
    scores[5] = -std::numeric_limits<double>::infinity();
    scores[6] = 0;
  }

  std::vector<double> scores;
  std::vector<float> labels;
  std::vector<float> weights;
};

template <typename Loss>
void ExpectSlopesOneByOne(const Loss& loss) {
  const Rows rows;
  const size_t count = rows.scores.size();
  for (const bool weighted : {false, true}) {
    std::vector<float> gradients(count);
    std::vector<float> hessians(count);
    SlopesOfRows(loss, rows.scores, rows.labels,
                 weighted ? std::span<const float>(rows.weights) : std::span<const float>(),
                 gradients, hessians);
    std::vector<float> expected_gradients;
    std::vector<float> expected_hessians;
    for (size_t row = 0; row < count; ++row) {
      const LossSlope slope = loss(rows.scores[row], rows.labels[row]);
      const double weight = weighted ? rows.weights[row] : 1;
      expected_gradients.push_back(static_cast<float>(slope.gradient * weight));
      expected_hessians.push_back(static_cast<float>(slope.hessian * weight));
    }
    EXPECT_EQ(BitsOf(gradients), BitsOf(expected_gradients)) << weighted;
    EXPECT_EQ(BitsOf(hessians), BitsOf(expected_hessians)) << weighted;
  }
}

TEST(RowGradients, AreToTheBitThoseOfOneRowAtATime) {
  ExpectSlopesOneByOne(loss::SquaredError{});
  ExpectSlopesOneByOne(loss::AbsoluteError{});
  ExpectSlopesOneByOne(loss::Huber{0.9});
  ExpectSlopesOneByOne(loss::Fair{1.1});
  ExpectSlopesOneByOne(loss::Poisson{0.7});
  ExpectSlopesOneByOne(loss::Quantile{0.3});
  ExpectSlopesOneByOne(loss::AbsolutePercentageError{});
  ExpectSlopesOneByOne(loss::Gamma{});
  ExpectSlopesOneByOne(loss::Tweedie{1.5});
  ExpectSlopesOneByOne(loss::BinaryLogistic{1.2, {0.5, 3}});
  ExpectSlopesOneByOne(loss::CrossEntropy{});
}

struct Slopes {
  Slopes() {
    Random random(23);
    for (size_t row = 0; row < 999; ++row) {
      gradients.push_back(static_cast<float>(random.Uniform() - 0.5) * 6);
      hessians.push_back(static_cast<float>(random.Uniform()));
    }
    gradients[17] = kInfinity;
    gradients[18] = -kInfinity;
    hessians[19] = std::numeric_limits<float>::quiet_NaN();
    gradients[20] = -0.0F;
    gradients[998] = -3.5F;  // the largest
  }

  std::vector<float> gradients;
  std::vector<float> hessians;
};

TEST(RowGradients, LargestOnesAreFoundAmongThoseThatAreFinite) {
  Slopes slopes;
  slopes.hessians[19 + 1] = 1.5F;
  const LargestSlopes largest = FindLargestSlopes(slopes.gradients, slopes.hessians);
  EXPECT_EQ(largest.gradient, 3.5F);
  EXPECT_EQ(largest.hessian, 1.5F);
  EXPECT_EQ(largest.not_finite, 3U);
  const std::vector<float> negative = {-1, -2};
  EXPECT_EQ(FindLargestSlopes(negative, negative).hessian, 0);
  EXPECT_EQ(FindLargestSlopes({}, {}).not_finite, 0U);
}

TEST(RowGradients, AreRoundedAsOneRowAtATime) {
  const Slopes slopes;
  const GradientUnits units{.gradient = 0x1p-13, .hessian = 0x1p-14};
  constexpr uint64_t kSeed = 99;
  constexpr uint64_t kFirst = (uint64_t{1} << 33) + 5;
  const size_t count = slopes.gradients.size();
  std::vector<uint32_t> rows16(count);
  std::vector<Row32> rows32(count);
  RoundRows16(slopes.gradients, slopes.hessians, units, kSeed, kFirst, rows16);
  RoundRows32(slopes.gradients, slopes.hessians, units, rows32);
  for (size_t row = 0; row < count; ++row) {
    const bool finite = std::isfinite(slopes.gradients[row]) && std::isfinite(slopes.hessians[row]);
    const double gradient = finite ? slopes.gradients[row] / units.gradient : 0;
    const double hessian = finite ? slopes.hessians[row] / units.hessian : 0;
    const uint64_t bits = Mix64(kSeed ^ ((kFirst + row) * 0x9e3779b97f4a7c15ULL));
    const auto chance = [&](int shift) {
      return static_cast<double>((bits >> shift) & 0xffffffffU) * 0x1p-32;
    };
    EXPECT_EQ(rows16[row], PackRow16(static_cast<int32_t>(std::floor(gradient + chance(32))),
                                     static_cast<int32_t>(std::floor(hessian + chance(0)))))
        << row;
    EXPECT_EQ(rows32[row].gradient, static_cast<int32_t>(std::floor(gradient + 0.5))) << row;
    EXPECT_EQ(rows32[row].hessian, static_cast<int32_t>(std::floor(hessian + 0.5))) << row;
  }
}

}  // namespace
}  // namespace strata
