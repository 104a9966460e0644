// What samplers draw, held against the formulas of CatBoost's bootstraps.
#include "worker/gbdt/catboost/train/bootstrap_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

namespace strata {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr size_t kSampleRows = 40000;

std::unique_ptr<WorkPool> PoolOf(int threads) {
  return std::move(*WorkPool::Start("test", threads));
}

// Of very different sizes.
std::vector<double> Gradients(size_t rows) {
  std::mt19937_64 random(3);
  std::vector<double> gradients;
  for (size_t row = 0; row < rows; ++row) {
    const double uniform = static_cast<double>(random() >> 11) * 0x1p-53;
    gradients.push_back((row % 2 == 0 ? 1 : -1) * uniform * uniform * uniform);
  }
  return gradients;
}

std::vector<float> Draw(const BootstrapParameters& parameters, uint64_t draw,
                        const std::vector<double>& gradients,
                        const std::vector<double>& last_leaves = {}, int threads = 0,
                        uint64_t seed = 11) {
  const BootstrapSampler sampler(parameters, seed, gradients.size());
  std::vector<float> factors(gradients.size());
  const Status status =
      sampler.Draw(draw / 6, draw % 6, gradients, last_leaves, *PoolOf(threads), factors);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return factors;
}

struct Moments {
  double mean = 0;
  double variance = 0;
  double kept = 0;  // share of the rows
};

Moments MomentsOf(const std::vector<float>& factors) {
  Moments m;
  const auto count = static_cast<double>(factors.size());
  for (const float factor : factors) {
    m.mean += factor / count;
    m.kept += factor > 0 ? 1 : 0;
  }
  m.kept /= count;
  for (const float factor : factors) m.variance += (factor - m.mean) * (factor - m.mean) / count;
  return m;
}

// Bounds are four standard deviations of the mean of so many rows, or more.
TEST(BootstrapSampler, BayesianFactorsArePowersOfExponentialNumbers) {
  const std::vector<double> gradients(kSampleRows, 1);
  const auto moments = [&](double temperature) {
    return MomentsOf(
        Draw({.type = BootstrapType::kBayesian, .bagging_temperature = temperature}, 0, gradients));
  };
  for (const double t : {1.0, 0.5, 2.0}) {
    const double mean = std::tgamma(1 + t);
    const double variance = std::tgamma(1 + 2 * t) - mean * mean;
    const Moments found = moments(t);
    EXPECT_NEAR(found.mean, mean, 4 * std::sqrt(variance / kSampleRows)) << t;
    EXPECT_NEAR(found.variance, variance, 0.25 * variance) << t;
    EXPECT_EQ(found.kept, 1) << t;
  }
  EXPECT_FALSE(
      BootstrapSampler({.type = BootstrapType::kBayesian, .bagging_temperature = 0}, 1, 500)
          .is_active());
}

TEST(BootstrapSampler, BernoulliKeepsAShare) {
  const std::vector<double> gradients(kSampleRows, 1);
  for (const double share : {0.66, 0.1}) {
    const Moments found =
        MomentsOf(Draw({.type = BootstrapType::kBernoulli, .subsample = share}, 0, gradients));
    EXPECT_NEAR(found.kept, share, 4 * std::sqrt(share * (1 - share) / kSampleRows));
    EXPECT_NEAR(found.mean, found.kept, 1e-9) << "factors are 0 and 1";
  }
}

TEST(BootstrapSampler, PoissonNumbersKeepAShare) {
  const std::vector<double> gradients(kSampleRows, 1);
  for (const double share : {0.66, 0.1, 0.999}) {
    const double mean = -std::log(1 - share);
    const Moments found =
        MomentsOf(Draw({.type = BootstrapType::kPoisson, .subsample = share}, 0, gradients));
    EXPECT_NEAR(found.kept, share, 4 * std::sqrt(share * (1 - share) / kSampleRows));
    EXPECT_NEAR(found.mean, mean, 4 * std::sqrt(mean / kSampleRows));
    EXPECT_NEAR(found.variance, mean, 0.1 * mean);
  }
}

// A row's factor is 1/p, or 0. The probability p is min(1, size / threshold), where the threshold
// keeps the expected share of each 8,192 rows.
TEST(BootstrapSampler, MvsKeepsRowsByTheirGradients) {
  const std::vector<double> gradients = Gradients(20000);
  for (const double share : {0.8, 0.3}) {
    for (const double reg : {0.0, 0.01}) {
      const auto factors =
          Draw({.type = BootstrapType::kMvs, .subsample = share, .mvs_reg = reg}, 0, gradients);
      for (size_t begin = 0; begin < gradients.size(); begin += 8192) {
        const size_t end = std::min(gradients.size(), begin + 8192);
        std::vector<double> sizes;
        for (size_t row = begin; row < end; ++row) {
          sizes.push_back(std::sqrt(gradients[row] * gradients[row] + reg));
        }
        double low = 0;
        double high = 1e3;
        for (int i = 0; i < 200; ++i) {
          const double threshold = (low + high) / 2;
          double expected = 0;
          for (const double size : sizes) expected += std::min(1.0, size / threshold);
          (expected > share * static_cast<double>(sizes.size()) ? low : high) = threshold;
        }
        double kept = 0;
        for (size_t row = begin; row < end; ++row) {
          const double p = std::min(1.0, sizes[row - begin] / low);
          if (p == 1) {
            ASSERT_EQ(factors[row], 1) << row;
          }
          if (factors[row] > 0) {
            ASSERT_NEAR(factors[row] * p, 1, 1e-6) << row;
          }
          kept += factors[row] > 0 ? 1 : 0;
        }
        const auto count = static_cast<double>(end - begin);
        EXPECT_NEAR(kept / count, share, 4 * std::sqrt(share * (1 - share) / count));
      }
    }
  }
}

// Over many draws the mean of a row's factor is 1.
TEST(BootstrapSampler, MvsIsUnbiased) {
  const std::vector<double> gradients = Gradients(300);
  std::vector<double> means(gradients.size());
  constexpr size_t kDraws = 4000;
  for (size_t draw = 0; draw < kDraws; ++draw) {
    const auto factors =
        Draw({.type = BootstrapType::kMvs, .subsample = 0.5, .mvs_reg = 0.01}, draw, gradients);
    for (size_t row = 0; row < factors.size(); ++row) means[row] += factors[row] / kDraws;
  }
  // The variance of a factor is 1/p - 1, and here p is 0.15 at least.
  for (const double mean : means) EXPECT_NEAR(mean, 1, 5 * std::sqrt(6.0 / kDraws));
}

TEST(BootstrapSampler, MvsRegularisesByTheLastLeaves) {
  const std::vector<double> gradients = Gradients(1000);
  BootstrapParameters parameters = {.type = BootstrapType::kMvs, .subsample = 0.4};
  const auto by_leaves = Draw(parameters, 2, gradients, {0.5, -0.1, 0, 0.2});
  const auto by_gradients = Draw(parameters, 2, gradients);
  EXPECT_NE(by_leaves, by_gradients);
  parameters.mvs_reg = 0.2 * 0.2;
  EXPECT_EQ(Draw(parameters, 2, gradients), by_leaves);
  double mean = 0;
  for (const double gradient : gradients) mean += std::abs(gradient) / 1000;
  parameters.mvs_reg = mean * mean;
  const auto expected = Draw(parameters, 2, gradients);
  for (size_t row = 0; row < expected.size(); ++row) {
    EXPECT_FLOAT_EQ(by_gradients[row], expected[row]);
  }
}

// Gradients of several outputs count as one number of their length.
TEST(BootstrapSampler, MvsGoesByTheLengthOfGradients) {
  std::vector<double> gradients = Gradients(1000);
  std::vector<double> lengths(500);
  for (size_t row = 0; row < 500; ++row) {
    lengths[row] = std::hypot(gradients[row], gradients[500 + row]);
  }
  const auto draw = [](const std::vector<double>& of_rows, const std::vector<double>& last_leaves) {
    std::vector<float> factors(500);
    const BootstrapSampler sampler({.type = BootstrapType::kMvs, .subsample = 0.4}, 11, 500);
    EXPECT_TRUE(sampler.Draw(2, 0, of_rows, last_leaves, *PoolOf(0), factors).ok());
    return factors;
  };
  const auto expect_same = [](const std::vector<float>& found, const std::vector<float>& expected) {
    for (size_t row = 0; row < 500; ++row) EXPECT_FLOAT_EQ(found[row], expected[row]) << row;
  };
  expect_same(draw(gradients, {}), draw(lengths, {}));
  expect_same(draw(gradients, {0.3, -0.4, 0, 0.1}), draw(lengths, {0.5, 0.1}));
}

TEST(BootstrapSampler, MvsTakesGradientsOfZero) {
  const BootstrapParameters parameters = {.type = BootstrapType::kMvs, .subsample = 0.4};
  EXPECT_THAT(Draw(parameters, 0, std::vector<double>(500, 0.0)), Each(1));
  std::vector<double> gradients(500, 0.0);
  gradients[7] = 1;
  const auto factors =
      Draw({.type = BootstrapType::kMvs, .subsample = 0.4, .mvs_reg = 0}, 0, gradients);
  EXPECT_GT(factors[7], 0);
  for (const float factor : factors) EXPECT_TRUE(std::isfinite(factor));
}

TEST(BootstrapSampler, DrawsDependOnSeedAndNumberAlone) {
  const std::vector<double> gradients = Gradients(50000);
  for (const BootstrapType type : {BootstrapType::kBayesian, BootstrapType::kBernoulli,
                                   BootstrapType::kPoisson, BootstrapType::kMvs}) {
    const BootstrapParameters parameters = {.type = type, .bagging_temperature = 0.7};
    const auto first = Draw(parameters, 4, gradients);
    EXPECT_EQ(Draw(parameters, 4, gradients, {}, 4), first) << "with five threads";
    EXPECT_NE(Draw(parameters, 5, gradients), first);
    EXPECT_NE(Draw(parameters, 4, gradients, {}, 0, 12), first);
  }
}

TEST(BootstrapSampler, FewRowsAreAllKept) {
  for (const BootstrapType type :
       {BootstrapType::kBernoulli, BootstrapType::kPoisson, BootstrapType::kMvs}) {
    EXPECT_FALSE(BootstrapSampler({.type = type}, 1, 99).is_active());
    EXPECT_TRUE(BootstrapSampler({.type = type}, 1, 100).is_active());
    EXPECT_TRUE(BootstrapSampler({.type = type, .subsample = 0.9}, 1, 99).is_active());
    EXPECT_FALSE(BootstrapSampler({.type = type, .subsample = 1}, 1, 500).is_active());
  }
  const std::vector<double> gradients(kSampleRows, 1);
  EXPECT_NEAR(MomentsOf(Draw({.type = BootstrapType::kBernoulli}, 0, gradients)).kept, 0.66, 0.01);
  EXPECT_NEAR(MomentsOf(Draw({.type = BootstrapType::kMvs}, 0, gradients)).kept, 0.8, 0.01);
}

TEST(BootstrapSampler, ASampleOfNoRowsIsAnError) {
  const BootstrapSampler sampler({.type = BootstrapType::kBernoulli, .subsample = 1e-9}, 1, 200);
  std::vector<float> factors(200);
  const Status status = sampler.Draw(0, 0, std::vector<double>(200, 1), {}, *PoolOf(0), factors);
  EXPECT_THAT(status.message(), HasSubstr("sampling leaves none of 200 rows: raise subsample"));
}

}  // namespace
}  // namespace strata
