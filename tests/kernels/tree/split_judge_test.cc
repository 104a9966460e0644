#include "kernels/tree/split/split_judge.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace strata {
namespace {

struct LeafOfBins {
  std::vector<GradientSums> bins;
  SplitLeaf leaf;

  void Add(const GradientSums& sums) {
    bins.push_back(sums);
    leaf.sums += sums;
    leaf.rows += 10;
  }
};

// Mirrored: a threshold and the one at the same distance from the other end have gains that differ
// by roundings alone.
LeafOfBins RandomLeaf(Random& random, bool mirrored) {
  LeafOfBins made;
  const size_t half = 1 + random.Below(40);
  for (size_t i = 0; i < half; ++i) {
    made.Add({static_cast<int64_t>(random.Below(100001)) - 50000,
              1 + static_cast<int64_t>(random.Below(30000))});
  }
  for (size_t i = half; i-- > 0 && mirrored;) {
    made.Add({-made.bins[i].gradient, made.bins[i].hessian});
  }
  return made;
}

SplitRules RandomRules(Random& random) {
  SplitRules rules;
  rules.min_data_in_leaf = 0;
  rules.min_sum_hessian_in_leaf = 0;
  rules.lambda_l1 = random.Chance(0.3) ? random.Uniform() * 10 : 0;
  rules.lambda_l2 = random.Chance(0.3) ? random.Uniform() * 10 : 0;
  return rules;
}

TEST(SplitJudge, WhatIsSurelyLessIsLess) {
  Random random(11);
  size_t surely = 0;
  size_t near = 0;
  for (int round = 0; round < 3000; ++round) {
    const LeafOfBins made = RandomLeaf(random, round % 2 == 0);
    const GradientUnits units{random.Uniform() + 0x1p-20, random.Uniform() + 0x1p-20};
    const SplitJudge judge({}, made.leaf, units, RandomRules(random));
    ASSERT_TRUE(judge.has_fractions());
    std::vector<GainFraction> fractions;
    std::vector<double> gains;
    SplitSide side;
    for (size_t bin = 0; bin + 1 < made.bins.size(); ++bin) {
      judge.Add(made.bins[bin], &side);
      fractions.push_back(judge.FractionOf(side));
      gains.push_back(judge.GainOf(side, true));
      ASSERT_GT(fractions.back().under, 0);
    }
    for (size_t a = 0; a < gains.size(); ++a) {
      for (size_t b = 0; b < gains.size(); ++b) {
        if (IsSurelyLess(fractions[a], fractions[b])) {
          ++surely;
          ASSERT_LT(gains[a], gains[b]) << "round " << round << ": " << a << ", " << b;
        } else if (gains[a] < gains[b]) {
          ++near;
          ASSERT_GT(gains[a], gains[b] * (1 - 0x1p-47)) << "round " << round;
        }
      }
    }
  }
  EXPECT_GT(surely, 100000U);
  EXPECT_GT(near, 1000U);  // gains that differ, but by too little to be sure
}

TEST(SplitJudge, ComparesGainsOfBentOutputsAsTheyAre) {
  SplitRules rules;
  EXPECT_TRUE(SplitJudge({}, {}, {}, rules).has_fractions());
  rules.lambda_l2 = 1e300;
  EXPECT_FALSE(SplitJudge({}, {}, {}, rules).has_fractions());
  rules = {};
  rules.path_smooth = 1;
  EXPECT_FALSE(SplitJudge({}, {}, {}, rules).has_fractions());
  EXPECT_FALSE(SplitJudge({.monotone = 1}, {}, {}, {}).has_fractions());
}

TEST(ToDouble, IsTheNearestWhicheverWayItIsMade) {
  Random random(3);
  const auto expect_same = [](int64_t integer) {
    EXPECT_EQ(ToDoubleByHalves(integer), static_cast<double>(integer)) << integer;
  };
  for (const int64_t edge : {int64_t{0}, int64_t{1}, int64_t{1} << 32, (int64_t{1} << 53) + 1,
                             INT64_MAX, INT64_MAX - 511, INT64_MAX - 512}) {
    expect_same(edge);
    expect_same(-edge);
    expect_same(-edge - 1);
  }
  for (int i = 0; i < 100000; ++i) {
    expect_same(static_cast<int64_t>(random.Next()) >> random.Below(64));
  }
}

}  // namespace
}  // namespace strata
