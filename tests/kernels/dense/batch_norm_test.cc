// Batch normalisation against plain loops in double precision.
#include "kernels/dense/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace strata {
namespace {

// Columns of unlike means and variances, with gaps between the rows, and running statistics of
// them.
struct Columns {
  BatchNormShape shape;
  std::vector<float> x;
  std::vector<float> dy;
  std::vector<float> scales;
  std::vector<float> biases;
  std::vector<float> statistics;
  std::vector<float> moments;
  std::vector<float> sums;

  Columns(size_t samples, size_t width, uint64_t seed)
      : shape{samples, width, width + 3, width + 1},
        x(samples * shape.x_stride),
        dy(samples * shape.y_stride),
        scales(width),
        biases(width),
        statistics(2 * width),
        moments(2 * width),
        sums(2 * width) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
    for (size_t i = 0; i < samples; ++i) {
      for (size_t e = 0; e < width; ++e) {
        const auto number = static_cast<float>(e);
        x[i * shape.x_stride + e] = 1000 - 50 * number + (0.1F + number) * uniform(random);
      }
    }
    for (std::vector<float>* all : {&dy, &scales, &biases}) {
      for (float& value : *all) value = uniform(random);
    }
    for (size_t e = 0; e < width; ++e) {
      statistics[e] = 990 - 50 * static_cast<float>(e);
      statistics[width + e] = 0.5F + static_cast<float>(e);
    }
  }

  double At(size_t i, size_t e) const { return x[i * shape.x_stride + e]; }
  double Mean(size_t e) const {
    double mean = 0;
    for (size_t i = 0; i < shape.samples; ++i) {
      mean += At(i, e) / static_cast<double>(shape.samples);
    }
    return mean;
  }
  double Squares(size_t e, double around) const {
    double squares = 0;
    for (size_t i = 0; i < shape.samples; ++i) squares += std::pow(At(i, e) - around, 2);
    return squares;
  }
  void FindMoments(WorkPool* threads = nullptr) {
    BatchMoments({}, shape, x, statistics, moments, sums, threads);
  }
};

TEST(BatchNorm, MomentsAndSumsAreThoseOfTheColumns) {
  for (const auto& [samples, width] : {std::pair{1UL, 3UL}, {2UL, 1UL}, {500UL, 75UL}}) {
    Columns of(samples, width, 1);
    of.FindMoments();
    for (size_t e = 0; e < width; ++e) {
      const double mean = of.Mean(e);
      const double squares = of.Squares(e, mean);
      const double scale = 1 / std::sqrt(squares / static_cast<double>(samples) + 1e-5);
      EXPECT_NEAR(of.moments[e], mean, 1e-6 * (1 + std::abs(mean)));
      EXPECT_NEAR(of.moments[width + e], scale, 1e-6 * scale);
      const double running = of.statistics[e];
      const double apart = static_cast<double>(samples) * (mean - running);
      EXPECT_NEAR(of.sums[e], apart, 1e-6 * (1 + std::abs(apart)));
      const double around = of.Squares(e, running);
      EXPECT_NEAR(of.sums[width + e], around, 1e-6 * around);
    }
    std::vector<float> running(2 * width);
    RunningMoments({}, of.statistics, running);
    for (size_t e = 0; e < width; ++e) {
      EXPECT_EQ(running[e], of.statistics[e]);
      EXPECT_FLOAT_EQ(running[width + e], 1 / std::sqrt(of.statistics[width + e] + 1e-5F));
    }
  }
}

// The sums of a batch are those of its parts, added up. The columns begin far from the running
// mean, and 20 batches bring it near.
TEST(BatchNorm, StatisticsMoveAsThoseOfTheWholeBatch) {
  constexpr size_t kWidth = 5;
  std::vector<float> found(2 * kWidth);
  std::vector<double> expected(2 * kWidth);
  for (size_t e = 0; e < kWidth; ++e) found[kWidth + e] = 1;
  for (size_t e = 0; e < kWidth; ++e) expected[kWidth + e] = 1;
  for (uint64_t step = 0; step < 20; ++step) {
    Columns whole(64, kWidth, step);
    std::vector<float> sums(2 * kWidth);
    size_t first = 0;
    for (const size_t samples : {40, 1, 23}) {
      Columns part(samples, kWidth, 0);
      const auto begin = whole.x.begin() + static_cast<ptrdiff_t>(first * whole.shape.x_stride);
      part.x.assign(begin, begin + static_cast<ptrdiff_t>(samples * whole.shape.x_stride));
      part.statistics = found;
      part.FindMoments();
      for (size_t e = 0; e < sums.size(); ++e) sums[e] += part.sums[e];
      first += samples;
    }
    MoveStatistics({}, 64, sums, found);
    for (size_t e = 0; e < kWidth; ++e) {
      const double mean = whole.Mean(e);
      expected[e] += (mean - expected[e]) / 10;
      double& variance = expected[kWidth + e];
      variance += (whole.Squares(e, mean) / 63 - variance) / 10;
    }
  }
  for (size_t e = 0; e < kWidth; ++e) {
    EXPECT_NEAR(found[e], expected[e], 1e-5 * std::abs(expected[e])) << e;
    EXPECT_NEAR(found[kWidth + e], expected[kWidth + e], 0.02 + 0.01 * expected[kWidth + e]) << e;
  }
  const std::vector<float> before = found;
  MoveStatistics({}, 1, std::vector<float>(2 * kWidth, 3.0F), found);
  EXPECT_EQ(found, before) << "one sample has no variance";
}

TEST(BatchNorm, VarianceIsNoLessThanZeroAndKeepsWhatIsNoNumber) {
  std::vector<float> statistics = {0, 1};
  MoveStatistics({}, 4, std::vector<float>{8, 15.999F}, statistics);
  EXPECT_FLOAT_EQ(statistics[0], 0.2F);
  EXPECT_FLOAT_EQ(statistics[1], 0.9F);
  MoveStatistics({}, 4, std::vector<float>{8, NAN}, statistics);
  EXPECT_TRUE(std::isnan(statistics[1]));
}

TEST(BatchNorm, ThreadsChangeNoBits) {
  constexpr size_t kWidth = 200;  // several pieces of columns
  Columns of(300, kWidth, 4);
  std::vector<std::vector<float>> expected;
  for (const int threads : {1, 2, 5}) {
    const auto pool = WorkPool::Start("test", threads - 1);
    ASSERT_TRUE(pool.ok());
    of.FindMoments(pool->get());
    std::vector<float> dscales(kWidth);
    std::vector<float> dbiases(kWidth);
    BatchNormSums({}, of.shape, of.x, of.moments, of.dy, dscales, dbiases, pool->get());
    const std::vector<std::vector<float>> found = {of.moments, of.sums, dscales, dbiases};
    if (expected.empty()) expected = found;
    EXPECT_EQ(found, expected) << threads;
  }
}

}  // namespace
}  // namespace strata
