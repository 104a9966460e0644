// Projections of leaves, held against a search over all ways to part a chain.
#include "worker/gbdt/catboost/train/monotone_leaves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace strata {
namespace {

using testing::ElementsAre;

// The least squares of values along `order` that do not fall: of all ways to cut the chain into
// parts with one value each, which then is the part's mean.
std::vector<double> BestOfAllCuts(const std::vector<uint32_t>& order,
                                  const std::vector<double>& weights,
                                  const std::vector<double>& values) {
  std::vector<double> best;
  double best_error = std::numeric_limits<double>::infinity();
  for (uint32_t cuts = 0; cuts < 1U << (order.size() - 1); ++cuts) {
    std::vector<double> means = values;
    double error = 0;
    double last = -std::numeric_limits<double>::infinity();
    bool rises = true;
    for (size_t begin = 0; begin < order.size();) {
      size_t end = begin + 1;
      while (end < order.size() && ((cuts >> (end - 1)) & 1) == 0) ++end;
      double weight = 0;
      double sum = 0;
      for (size_t i = begin; i < end; ++i) {
        weight += weights[order[i]];
        sum += weights[order[i]] * values[order[i]];
      }
      const double mean = sum / weight;
      rises = rises && mean >= last;
      last = mean;
      for (size_t i = begin; i < end; ++i) {
        means[order[i]] = mean;
        error += weights[order[i]] * (values[order[i]] - mean) * (values[order[i]] - mean);
      }
      begin = end;
    }
    if (!rises || error >= best_error) continue;
    best_error = error;
    best = means;
  }
  return best;
}

struct MonotoneCase {
  std::vector<int8_t> directions;
  std::vector<std::vector<uint32_t>> chains;
};

// Bit k of a leaf is that of split k; the first directed split counts most.
const MonotoneCase kMonotoneCases[] = {
    {{1}, {{0, 1}}},
    {{-1}, {{1, 0}}},
    {{1, 1}, {{0, 2, 1, 3}}},
    {{0, 1}, {{0, 2}, {1, 3}}},
    {{-1, 0}, {{1, 0}, {3, 2}}},
    {{1, -1}, {{2, 0, 3, 1}}},
    {{1, 0, 1}, {{0, 4, 1, 5}, {2, 6, 3, 7}}},
    {{1, 1, 1}, {{0, 4, 2, 6, 1, 5, 3, 7}}},
};

TEST(MonotoneLeaves, ProjectsEachChain) {
  std::mt19937_64 random(2);
  const auto uniform = [&random] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  for (const MonotoneCase& of : kMonotoneCases) {
    const MonotoneLeaves leaves(of.directions);
    for (int i = 0; i < 40; ++i) {
      std::vector<double> weights(size_t{1} << of.directions.size());
      std::vector<double> values(weights.size());
      for (double& weight : weights) weight = 0.1 + uniform();
      for (double& value : values) value = uniform() - 0.5;
      std::vector<double> expected = values;
      for (const auto& chain : of.chains) {
        const std::vector<double> of_chain = BestOfAllCuts(chain, weights, values);
        for (const uint32_t leaf : chain) expected[leaf] = of_chain[leaf];
      }
      leaves.Project(weights, values);
      for (size_t leaf = 0; leaf < values.size(); ++leaf) {
        ASSERT_NEAR(values[leaf], expected[leaf], 1e-12) << leaf;
      }
    }
  }
}

TEST(MonotoneLeaves, ValuesInOrderStay) {
  std::vector<double> values = {1, 2, 3, 4};
  const std::vector<double> weights = {1, 1, 1, 1};
  MonotoneLeaves(std::vector<int8_t>{0, 0}).Project(weights, values);
  MonotoneLeaves(std::vector<int8_t>{0, 1}).Project(weights, values);
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4));
  MonotoneLeaves(std::vector<int8_t>{0, -1}).Project(weights, values);
  EXPECT_THAT(values, ElementsAre(2, 3, 2, 3));
}

}  // namespace
}  // namespace strata
