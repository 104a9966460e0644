#include "kernels/tree/split/split_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "base/random.h"

namespace strata {
namespace {

using Wide = long double;

// A feature's histogram where each row counts 1 in the hessian, so that rows are counted exactly.
struct Case {
  std::vector<GradientSums> histogram;
  SplitLeaf leaf;
  GradientUnits units = {.gradient = 0.01, .hessian = 1};
};

Case RandomCase(Random& random, uint32_t bins, int64_t rows_max) {
  Case made;
  for (uint32_t bin = 0; bin < bins; ++bin) {
    const auto rows = static_cast<int64_t>(random.Below(static_cast<uint64_t>(rows_max)));
    const auto size = static_cast<int64_t>(random.Below(200));
    const GradientSums sums = {rows * (size - 100) + static_cast<int64_t>(random.Below(50)), rows};
    made.histogram.push_back(sums);
    made.leaf.sums += sums;
    made.leaf.rows += rows;
  }
  return made;
}

Wide Soft(Wide gradient, Wide l1) {
  return std::max(std::fabs(gradient) - l1, Wide{0}) * (gradient < 0 ? -1 : 1);
}

Wide GainOf(const Case& c, const GradientSums& sums, const SplitRules& rules, Wide l2) {
  const Wide g = Soft(static_cast<Wide>(sums.gradient) * c.units.gradient, rules.lambda_l1);
  return g * g / (static_cast<Wide>(sums.hessian) * c.units.hessian + l2);
}

// The gain of sending `left` left; nothing where a side is too small.
std::optional<Wide> GainOfLeft(const Case& c, const GradientSums& left, const SplitRules& rules,
                               Wide extra_l2 = 0) {
  const GradientSums right = c.leaf.sums - left;
  for (const GradientSums& side : {left, right}) {
    if (side.hessian < rules.min_data_in_leaf) return std::nullopt;
  }
  return GainOf(c, left, rules, rules.lambda_l2 + extra_l2) +
         GainOf(c, right, rules, rules.lambda_l2 + extra_l2) -
         GainOf(c, c.leaf.sums, rules, rules.lambda_l2) - rules.min_gain_to_split;
}

bool IsMissing(const FeatureShape& shape, uint32_t bin) {
  return (shape.missing == MissingKind::kNaN && bin == shape.bins - 1) ||
         (shape.missing == MissingKind::kZero && bin == shape.default_bin);
}

// Every threshold that leaves the last bin on the right, with missing values on either side.
Wide BestNumericGain(const Case& c, const FeatureShape& shape, const SplitRules& rules) {
  Wide best = 0;
  for (uint32_t threshold = 0; threshold + 1 < shape.bins; ++threshold) {
    for (const bool missing_left : {true, false}) {
      GradientSums left;
      for (uint32_t bin = 0; bin < shape.bins; ++bin) {
        if (IsMissing(shape, bin) ? missing_left : bin <= threshold) left += c.histogram[bin];
      }
      best = std::max(best, GainOfLeft(c, left, rules).value_or(0));
    }
  }
  return best;
}

SplitRules RandomRules(Random& random) {
  SplitRules rules;
  rules.min_data_in_leaf = 1 + static_cast<int64_t>(random.Below(3) * 20);
  rules.lambda_l1 = random.Chance(0.3) ? 2 : 0;
  rules.lambda_l2 = random.Chance(0.5) ? 1.5 : 0.0;
  rules.min_gain_to_split = random.Chance(0.3) ? 0.5 : 0;
  return rules;
}

GradientSums LeftOf(const Case& c, const FeatureShape& shape, const Split& split) {
  GradientSums left;
  for (uint32_t bin = 0; bin < shape.bins; ++bin) {
    const bool goes_left = IsMissing(shape, bin) ? split.default_left : bin <= split.threshold;
    if (goes_left) left += c.histogram[bin];
  }
  return left;
}

TEST(SplitSearch, FindsTheBestThreshold) {
  Random random(21);
  int found = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto bins = static_cast<uint32_t>(3 + random.Below(30));
    const Case c = RandomCase(random, bins, 60);
    const SplitRules rules = RandomRules(random);
    const FeatureShape shape = {.bins = bins,
                                .missing = static_cast<MissingKind>(random.Below(3)),
                                .default_bin = static_cast<uint32_t>(random.Below(bins))};
    const Split split = FindBestSplit(shape, 4, c.histogram, c.leaf, c.units, rules);
    const Wide best = BestNumericGain(c, shape, rules);
    if (best < 1e-6) continue;  // rounding decides whether that is a split
    ASSERT_TRUE(split.exists()) << "case " << i;
    ++found;
    EXPECT_NEAR(split.gain, static_cast<double>(best), 1e-9 * (1 + static_cast<double>(best)));
    EXPECT_EQ(split.left, LeftOf(c, shape, split)) << "case " << i;
    EXPECT_EQ(split.left.gradient + split.right.gradient, c.leaf.sums.gradient);
    EXPECT_EQ(split.feature, 4);
    const double g =
        static_cast<double>(Soft(static_cast<Wide>(split.left.gradient) * 0.01, rules.lambda_l1));
    EXPECT_NEAR(split.left_output, -g / (static_cast<double>(split.left.hessian) + rules.lambda_l2),
                1e-9);
  }
  EXPECT_GT(found, 2000);
}

// A search of all thresholds goes over many at a time, one of a single threshold does not: the best
// of the latter is the former, to the bit.
TEST(SplitSearch, ManyThresholdsAtATimeAreThoseOneByOne) {
  Random random(27);
  int found = 0;
  for (int i = 0; i < 400; ++i) {
    const auto bins = static_cast<uint32_t>(2 + random.Below(i % 20 == 0 ? 1000 : 40));
    const Case c = RandomCase(random, bins, 1 + static_cast<int64_t>(random.Below(60)));
    SplitRules rules = RandomRules(random);
    rules.min_sum_hessian_in_leaf = static_cast<double>(random.Below(80));
    const FeatureShape shape = {.bins = bins,
                                .missing = static_cast<MissingKind>(random.Below(3)),
                                .default_bin = static_cast<uint32_t>(random.Below(bins))};
    const Split all = FindBestSplit(shape, 0, c.histogram, c.leaf, c.units, rules);
    Split best;
    for (uint32_t bin = 0; bin + 1 < bins; ++bin) {
      const Split one = FindBestSplit(shape, 0, c.histogram, c.leaf, c.units, rules, bin);
      if (one.gain > best.gain) best = one;
    }
    EXPECT_EQ(all.gain, best.gain) << "case " << i;
    found += all.exists() ? 1 : 0;
    if (!all.exists()) continue;
    const Split again = FindBestSplit(shape, 0, c.histogram, c.leaf, c.units, rules, all.threshold);
    EXPECT_EQ(again.gain, all.gain) << "case " << i;
    EXPECT_EQ(again.left, all.left) << "case " << i;
    EXPECT_EQ(again.default_left, all.default_left) << "case " << i;
    EXPECT_EQ(again.right_output, all.right_output) << "case " << i;
  }
  EXPECT_GT(found, 200);
}

TEST(SplitSearch, OneHotTriesEachCategory) {
  Random random(22);
  for (int i = 0; i < 500; ++i) {
    const Case c = RandomCase(random, 4, 80);
    SplitRules rules = RandomRules(random);
    const FeatureShape shape = {.bins = 4, .missing = MissingKind::kNaN, .categorical = true};
    Wide best = 0;
    for (uint32_t bin = 1; bin < 4; ++bin) {
      best = std::max(best, GainOfLeft(c, c.histogram[bin], rules).value_or(0));
    }
    const Split split = FindBestSplit(shape, 0, c.histogram, c.leaf, c.units, rules);
    if (best < 1e-6) continue;
    ASSERT_TRUE(split.exists());
    ASSERT_EQ(split.left_bins.size(), 1U);
    EXPECT_NE(split.left_bins[0], 0U) << "the rest must never go left";
    EXPECT_EQ(split.left, c.histogram[split.left_bins[0]]);
    EXPECT_NEAR(split.gain, static_cast<double>(best), 1e-9 * (1 + static_cast<double>(best)));
  }
}

// With no smoothing and no least group, the best subset of all is a prefix of the sorted order.
TEST(SplitSearch, SortedCategoriesReachTheBestSubset) {
  Random random(23);
  for (int i = 0; i < 300; ++i) {
    constexpr uint32_t kBins = 9;
    const Case c = RandomCase(random, kBins, 60);
    SplitRules rules;
    rules.min_data_in_leaf = 1;
    rules.cat_smooth = 1e-9;
    rules.cat_l2 = 0;
    rules.min_data_per_group = 1;
    rules.max_cat_to_onehot = 1;
    const FeatureShape shape = {.bins = kBins, .missing = MissingKind::kNaN, .categorical = true};
    Wide best = 0;
    for (uint32_t set = 1; set < 1U << (kBins - 1); ++set) {
      // At most half of the categories go left, and bin 0 never does.
      if (static_cast<uint32_t>(__builtin_popcount(set)) > kBins / 2) continue;
      GradientSums left;
      for (uint32_t bin = 1; bin < kBins; ++bin) {
        if ((set >> (bin - 1) & 1) != 0) left += c.histogram[bin];
      }
      best = std::max(best, GainOfLeft(c, left, rules).value_or(0));
    }
    const Split split = FindBestSplit(shape, 0, c.histogram, c.leaf, c.units, rules);
    ASSERT_TRUE(split.exists());
    GradientSums left;
    for (const uint32_t bin : split.left_bins) left += c.histogram[bin];
    EXPECT_EQ(split.left, left);
    // Bin 0 stays on the right, so the true best subset of the others may lie inside; a prefix from
    // either end is at most what the best subset gains, and reaches most of it.
    EXPECT_LE(split.gain, static_cast<double>(best) * (1 + 1e-9));
    EXPECT_GE(split.gain, static_cast<double>(best) * 0.5);
  }
}

TEST(SplitSearch, MonotoneSplitsGoTheRightWay) {
  Random random(24);
  for (int i = 0; i < 500; ++i) {
    const Case c = RandomCase(random, 12, 60);
    for (const int8_t direction : {int8_t{-1}, int8_t{1}}) {
      const FeatureShape shape = {.bins = 12, .monotone = direction};
      const Split split = FindBestSplit(shape, 0, c.histogram, c.leaf, c.units, SplitRules{});
      if (!split.exists()) continue;
      EXPECT_GE((split.right_output - split.left_output) * direction, 0);
    }
  }
}

TEST(SplitSearch, BoundsHoldOutputs) {
  Random random(25);
  Case c = RandomCase(random, 12, 60);
  c.leaf.bounds = {.min = -0.001, .max = 0.002};
  const Split split = FindBestSplit({.bins = 12}, 0, c.histogram, c.leaf, c.units, SplitRules{});
  for (const double output : {split.left_output, split.right_output}) {
    EXPECT_GE(output, -0.001);
    EXPECT_LE(output, 0.002);
  }
}

// A bound as often as not.
double RandomBound(Random& random, double none) {
  return random.Chance(0.5) ? none : static_cast<double>(random.Below(200)) / 100 - 1;
}

// Of every threshold, and missing values on either side: each child keeps to the bounds of its
// bins, or there is no such split.
TEST(SplitSearch, ChildrenKeepToTheBoundsOfTheirBins) {
  Random random(28);
  int found = 0;
  int excluded = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto bins = static_cast<uint32_t>(3 + random.Below(8));
    const Case c = RandomCase(random, bins, 60);
    SplitRules rules = RandomRules(random);
    rules.lambda_l1 = 0;
    FeatureShape shape;
    shape.bins = bins;
    shape.missing = static_cast<MissingKind>(random.Below(3));
    shape.default_bin = static_cast<uint32_t>(random.Below(bins));
    shape.monotone = static_cast<int8_t>(static_cast<int>(random.Below(3)) - 1);
    std::vector<OutputBounds> bounds(bins);
    for (OutputBounds& bin : bounds) {
      if (random.Chance(0.6)) continue;
      bin = {RandomBound(random, bin.min), RandomBound(random, bin.max)};
      if (bin.min > bin.max) std::swap(bin.min, bin.max);
    }
    Wide best = 0;
    Wide best_excluded = 0;
    for (uint32_t threshold = 0; threshold + 1 < bins; ++threshold) {
      for (const bool missing_left : {true, false}) {
        GradientSums sums[2];
        OutputBounds of[2];
        for (uint32_t bin = 0; bin < bins; ++bin) {
          const bool is_left = IsMissing(shape, bin) ? missing_left : bin <= threshold;
          sums[is_left ? 0 : 1] += c.histogram[bin];
          of[is_left ? 0 : 1] = Narrower(of[is_left ? 0 : 1], bounds[bin]);
        }
        Wide gain = -GainOf(c, c.leaf.sums, rules, rules.lambda_l2) - rules.min_gain_to_split;
        Wide outputs[2];
        bool is_small = false;
        for (const int side : {0, 1}) {
          is_small |= sums[side].hessian < rules.min_data_in_leaf;
          const Wide g = static_cast<Wide>(sums[side].gradient) * 0.01L;
          const Wide h = static_cast<Wide>(sums[side].hessian) + rules.lambda_l2;
          outputs[side] = -g / h;
          if (outputs[side] > of[side].max) outputs[side] = of[side].max;
          if (-g / h < of[side].min) outputs[side] = of[side].min;
          gain += -2 * g * outputs[side] - h * outputs[side] * outputs[side];
        }
        if (is_small || (outputs[1] - outputs[0]) * shape.monotone < 0) continue;
        const bool kept = of[0].min <= of[0].max && of[1].min <= of[1].max;
        (kept ? best : best_excluded) = std::max(kept ? best : best_excluded, gain);
      }
    }
    bool gains = false;
    const Split split =
        FindBestSplit(shape, 4, c.histogram, c.leaf, c.units, rules, -1, bounds, &gains);
    const Wide most = std::max(best, best_excluded);
    if (most == 0 || most > 1e-6) {  // else rounding decides
      EXPECT_EQ(gains, most > 0) << "case " << i;
    }
    excluded += best_excluded > best ? 1 : 0;
    if (best < 1e-6) continue;
    ++found;
    ASSERT_TRUE(split.exists()) << "case " << i;
    EXPECT_NEAR(split.gain, static_cast<double>(best), 1e-9 * (1 + static_cast<double>(best)));
    for (uint32_t bin = 0; bin < bins; ++bin) {
      const bool is_left = IsMissing(shape, bin) ? split.default_left : bin <= split.threshold;
      const double output = is_left ? split.left_output : split.right_output;
      EXPECT_TRUE(output >= bounds[bin].min && output <= bounds[bin].max) << "case " << i;
    }
  }
  EXPECT_GT(found, 1500);
  EXPECT_GT(excluded, 100);
}

TEST(SplitSearch, AnExtraTreeTriesOneThreshold) {
  Random random(26);
  const Case c = RandomCase(random, 12, 60);
  SplitRules rules;
  rules.min_data_in_leaf = 1;
  for (uint32_t bin = 0; bin < 11; ++bin) {
    const Split split = FindBestSplit({.bins = 12}, 0, c.histogram, c.leaf, c.units, rules, bin);
    if (!split.exists()) continue;
    EXPECT_EQ(split.threshold, bin);
  }
}

TEST(SplitSearch, EqualGainsGoToTheSmallerFeature) {
  Split a;
  a.gain = 2;
  a.feature = 3;
  Split b = a;
  b.feature = 5;
  EXPECT_TRUE(IsBetter(a, b));
  EXPECT_FALSE(IsBetter(b, a));
  EXPECT_FALSE(IsBetter(Split{}, a));
  EXPECT_TRUE(IsBetter(a, Split{}));
}

}  // namespace
}  // namespace strata
