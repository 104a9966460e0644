#include "worker/gbdt/grower/feature_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "kernels/tree/split/node_draw.h"

namespace strata {
namespace {

TEST(FeatureChoice, ANodeGetsItsShareOfTheCandidates) {
  std::vector<uint8_t> candidates(40, 1);
  candidates[3] = candidates[20] = 0;
  std::vector<int> times(40, 0);
  constexpr int kNodes = 4000;
  for (int node = 0; node < kNodes; ++node) {
    const auto seed = NodeSeed(7, ChildPath(RootPath(static_cast<uint64_t>(node)), true));
    const std::vector<uint8_t> chosen = FeaturesOfNode(candidates, 10, seed);
    EXPECT_EQ(std::ranges::count(chosen, 1), 10);
    for (size_t f = 0; f < 40; ++f) times[f] += chosen[f];
  }
  EXPECT_EQ(times[3] + times[20], 0);
  for (size_t f = 0; f < 40; ++f) {
    if (candidates[f] == 0) continue;
    EXPECT_NEAR(times[f], kNodes * 10 / 38.0, 150) << f;  // five deviations
  }
  EXPECT_EQ(FeaturesOfNode(candidates, 38, 1), candidates);
  EXPECT_EQ(FeaturesOfNode(candidates, 50, 1), candidates);
}

TEST(FeatureChoice, SharesAreRoundedAndNeverNone) {
  EXPECT_EQ(ShareOfFeatures(10, 0.25), 3U);
  EXPECT_EQ(ShareOfFeatures(10, 0.24), 2U);
  EXPECT_EQ(ShareOfFeatures(10, 0.001), 1U);
  EXPECT_EQ(ShareOfFeatures(0, 0.5), 0U);
  EXPECT_EQ(ShareOfFeatures(7, 1), 7U);
}

TEST(NodeDraw, NodesOfTreesHavePathsOfTheirOwn) {
  std::set<uint64_t> paths;
  for (uint64_t tree = 0; tree < 20; ++tree) {
    std::vector<uint64_t> level = {RootPath(tree)};
    for (int depth = 0; depth < 8; ++depth) {
      std::vector<uint64_t> next;
      for (const uint64_t path : level) {
        EXPECT_TRUE(paths.insert(path).second);
        next.push_back(ChildPath(path, true));
        next.push_back(ChildPath(path, false));
      }
      level = next;
    }
  }
  EXPECT_EQ(paths.size(), 20U * 255);
}

TEST(NodeDraw, RandomBinsAreThoseThatSplit) {
  std::set<int64_t> numbers;
  std::set<int64_t> categories;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    numbers.insert(RandomBin(seed, 0, {.bins = 8}));
    categories.insert(RandomBin(seed, 0, {.bins = 8, .categorical = true}));
    EXPECT_EQ(RandomBin(seed, 0, {.bins = 2}), -1);
  }
  EXPECT_EQ(numbers, (std::set<int64_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(categories, (std::set<int64_t>{1, 2, 3, 4, 5, 6, 7}));
}

}  // namespace
}  // namespace strata
