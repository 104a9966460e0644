// AUC against the definition over all pairs, and everything independent of order and of ranks.
#include "worker/ctr/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "cluster/collective/group.h"
#include "cluster/collective/memory_world.h"

namespace strata {
namespace {

using testing::HasSubstr;

std::vector<ScoredSample> RandomSamples(size_t count, uint64_t distinct_logits, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<ScoredSample> samples(count);
  for (ScoredSample& sample : samples) {
    sample.label = static_cast<float>(random() % 2);
    sample.logit =
        static_cast<float>(random() % distinct_logits) * 4 / static_cast<float>(distinct_logits) -
        2 + sample.label;
    sample.weight = static_cast<float>(random() % 4) / 2;
  }
  return samples;
}

double PairwiseAuc(const std::vector<ScoredSample>& samples) {
  double right = 0;
  double pairs = 0;
  for (const ScoredSample& positive : samples) {
    if (positive.label == 0) continue;
    for (const ScoredSample& negative : samples) {
      if (negative.label == 1) continue;
      const double weight = double{positive.weight} * negative.weight;
      pairs += weight;
      if (positive.logit > negative.logit) right += weight;
      if (positive.logit == negative.logit) right += weight / 2;
    }
  }
  return right / pairs;
}

TEST(Metrics, AgreeWithTheirDefinitions) {
  for (const uint64_t distinct : {1U, 2U, 7U, 1000U}) {
    std::vector<ScoredSample> samples = RandomSamples(700, distinct, 3);
    const double expected_auc = PairwiseAuc(samples);
    double weights = 0;
    double loss = 0;
    double predicted = 0;
    double labels = 0;
    for (const ScoredSample& sample : samples) {
      const double p = 1 / (1 + std::exp(-double{sample.logit}));
      weights += sample.weight;
      loss -= sample.weight * std::log(sample.label == 1 ? p : 1 - p);
      predicted += sample.weight * p;
      labels += double{sample.weight} * sample.label;
    }
    const Metrics metrics = ComputeMetrics(&samples);
    EXPECT_EQ(metrics.samples, 700U);
    EXPECT_NEAR(metrics.auc, expected_auc, 1e-12);
    EXPECT_NEAR(metrics.logloss, loss / weights, 1e-9);
    EXPECT_NEAR(metrics.calibration, predicted / labels, 1e-9);
  }
}

// By hand: errors 1, -2 and 0 of weights 1, 2 and 1; labels of mean 1.5 and variance 4.75.
TEST(Metrics, SquaredErrorsAreTheirWeightedMean) {
  std::vector<ScoredSample> samples = {{6, 5, 1}, {-2, 0, 2}, {1, 1, 1}};
  const Metrics metrics = ComputeMetrics(&samples, LossKind::kMse);
  EXPECT_EQ(metrics.samples, 3U);
  EXPECT_DOUBLE_EQ(metrics.mse, 9.0 / 4);
  EXPECT_DOUBLE_EQ(metrics.base_mse, (3.5 * 3.5 + 2 * 1.5 * 1.5 + 0.25) / 4);
  EXPECT_TRUE(std::isnan(metrics.auc) && std::isnan(metrics.logloss));
  EXPECT_EQ(SquaredErrorText(metrics), "RMSE 1.5, MSE 2.25");
  EXPECT_EQ(WhyNoAuc(metrics), "");
  std::vector<ScoredSample> none = {{1, 2, 0}};
  EXPECT_EQ(SquaredErrorText(ComputeMetrics(&none, LossKind::kMse)), "RMSE none, MSE none");
}

TEST(Metrics, PerfectReversedAndConstantAnswers) {
  std::vector<ScoredSample> perfect = {{1, 1, 1}, {-1, 0, 1}, {2, 1, 1}, {-3, 0, 1}};
  EXPECT_EQ(ComputeMetrics(&perfect).auc, 1.0);
  for (ScoredSample& sample : perfect) sample.logit = -sample.logit;
  EXPECT_EQ(ComputeMetrics(&perfect).auc, 0.0);
  for (ScoredSample& sample : perfect) sample.logit = 0;
  EXPECT_EQ(ComputeMetrics(&perfect).auc, 0.5);
  EXPECT_NEAR(ComputeMetrics(&perfect).logloss, std::log(2.0), 1e-15);
}

TEST(Metrics, WithoutBothLabelsThereIsNoAuc) {
  std::vector<ScoredSample> none;
  EXPECT_TRUE(std::isnan(ComputeMetrics(&none).auc));
  EXPECT_TRUE(std::isnan(ComputeMetrics(&none).logloss));
  std::vector<ScoredSample> weightless = {{1, 0, 0}, {2, 1, 0}};
  EXPECT_EQ(WhyNoAuc(ComputeMetrics(&weightless)), "no row has a weight above 0");
  std::vector<ScoredSample> positives = {{1, 1, 1}, {2, 1, 1}};
  EXPECT_THAT(WhyNoAuc(ComputeMetrics(&positives)), HasSubstr("all labels are 1"));
  std::vector<ScoredSample> both = {{1, 1, 1}, {2, 0, 1}};
  EXPECT_EQ(WhyNoAuc(ComputeMetrics(&both)), "");
  std::vector<ScoredSample> negatives = {{1, 0, 1}, {2, 0, 1}};
  EXPECT_THAT(WhyNoAuc(ComputeMetrics(&negatives)), HasSubstr("all labels are 0"));
  EXPECT_TRUE(std::isnan(ComputeMetrics(&negatives).auc));
  EXPECT_TRUE(std::isnan(ComputeMetrics(&negatives).calibration));
  EXPECT_FALSE(std::isnan(ComputeMetrics(&negatives).logloss));
}

TEST(Metrics, ATextOfOneThatIsNotDefinedIsNoNumber) {
  EXPECT_EQ(MetricText(0.91929999, 5), "0.91930");
  EXPECT_EQ(MetricText(std::nan(""), 5), "none");
}

TEST(Metrics, DoNotDependOnOrderToTheBit) {
  std::vector<ScoredSample> samples = RandomSamples(5000, 40, 9);
  std::vector<ScoredSample> sorted = samples;
  const Metrics expected = ComputeMetrics(&sorted);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    std::vector<ScoredSample> shuffled = samples;
    std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937_64(seed));
    const Metrics metrics = ComputeMetrics(&shuffled);
    EXPECT_EQ(metrics.auc, expected.auc);
    EXPECT_EQ(metrics.logloss, expected.logloss);
    EXPECT_EQ(metrics.calibration, expected.calibration);
  }
}

TEST(Metrics, EveryRankOfEveryWorldGetsTheSameBits) {
  std::vector<ScoredSample> samples = RandomSamples(1000, 300, 11);
  std::vector<ScoredSample> sorted = samples;
  const Metrics expected = ComputeMetrics(&sorted);
  for (const int world : {1, 2, 3, 7}) {
    MemoryWorld memory(world);
    std::vector<std::thread> ranks;
    for (int r = 0; r < world; ++r) {
      ranks.emplace_back([&, r] {
        Group group(memory.rank(r));
        // The last rank has nothing, unless it is alone.
        const size_t parts = static_cast<size_t>(std::max(world - 1, 1));
        const size_t begin = std::min(samples.size() * static_cast<size_t>(r) / parts, 1000UL);
        const size_t end = std::min(samples.size() * static_cast<size_t>(r + 1) / parts, 1000UL);
        const auto metrics = ComputeMetrics(group, std::span(samples).subspan(begin, end - begin));
        ASSERT_TRUE(metrics.ok());
        EXPECT_EQ(metrics->samples, 1000U);
        EXPECT_EQ(metrics->auc, expected.auc);
        EXPECT_EQ(metrics->logloss, expected.logloss);
      });
    }
    for (std::thread& rank : ranks) rank.join();
  }
}

// The definition: each group by itself, pair by pair.
Metrics PairwiseGroups(const std::vector<ScoredSample>& samples,
                       const std::vector<uint64_t>& groups) {
  std::map<uint64_t, std::vector<ScoredSample>> divided;
  for (size_t i = 0; i < samples.size(); ++i) divided[groups[i]].push_back(samples[i]);
  Metrics metrics;
  double areas = 0;
  double weights = 0;
  for (const auto& [group, own] : divided) {
    const double area = PairwiseAuc(own);
    ++(std::isnan(area) ? metrics.groups_left_out : metrics.groups);
    if (std::isnan(area)) continue;
    for (const ScoredSample& sample : own) {
      areas += area * sample.weight;
      weights += sample.weight;
    }
  }
  metrics.gauc = areas / weights;
  return metrics;
}

TEST(Metrics, OfGroupsAgreeWithTheDefinitionOnEveryWorld) {
  for (const uint64_t group_count : {1U, 3U, 150U, 5000U}) {
    const std::vector<ScoredSample> samples = RandomSamples(1000, 30, 17 + group_count);
    std::mt19937_64 random(group_count);
    std::vector<uint64_t> groups(samples.size());
    for (uint64_t& group : groups) group = random() % group_count;
    const Metrics expected = PairwiseGroups(samples, groups);
    std::optional<Metrics> of_one;
    for (const int world : {1, 2, 5}) {
      MemoryWorld memory(world);
      std::vector<Metrics> found(static_cast<size_t>(world));
      std::vector<std::thread> ranks;
      for (int r = 0; r < world; ++r) {
        ranks.emplace_back([&, r] {
          Group group(memory.rank(r));
          // Each has every world-th sample, so that groups are spread; the last one has none.
          std::vector<ScoredSample> mine;
          std::vector<uint64_t> mine_in_groups;
          const auto parts = static_cast<size_t>(std::max(world - 1, 1));
          const auto first =
              static_cast<size_t>(r) < parts ? static_cast<size_t>(r) : samples.size();
          for (size_t i = first; i < samples.size(); i += parts) {
            mine.push_back(samples[i]);
            mine_in_groups.push_back(groups[i]);
          }
          const auto metrics = ComputeMetrics(group, mine, &mine_in_groups);
          ASSERT_TRUE(metrics.ok());
          found[static_cast<size_t>(r)] = *metrics;
        });
      }
      for (std::thread& rank : ranks) rank.join();
      if (!of_one) of_one = found[0];
      EXPECT_NEAR(of_one->gauc, expected.gauc, 1e-12);
      EXPECT_EQ(of_one->groups, expected.groups);
      EXPECT_EQ(of_one->groups_left_out, expected.groups_left_out);
      for (const Metrics& metrics : found) {
        EXPECT_EQ(metrics.gauc, of_one->gauc) << "to the bit";
        EXPECT_EQ(metrics.groups, of_one->groups);
        EXPECT_EQ(metrics.samples, samples.size());
        EXPECT_EQ(metrics.auc, of_one->auc);
      }
      if (group_count == 1) {
        EXPECT_EQ(of_one->gauc, of_one->auc);
      }
    }
  }
}

}  // namespace
}  // namespace strata
