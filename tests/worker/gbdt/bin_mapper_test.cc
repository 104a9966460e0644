#include "worker/gbdt/data/bin_mapper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "worker/gbdt/data/bin_bounds.h"
#include "worker/gbdt/data/sample_rows.h"

namespace strata {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Rules under which small examples have bins at all.
BinningRules SmallRules() { return {.min_data_in_bin = 1, .pre_filter = false}; }

BinMapper MapperOf(std::vector<double> values, size_t zeros, const BinningRules& rules,
                   bool categorical = false) {
  const size_t rows = values.size() + zeros;
  return BinMapper::Find(
      {.values = std::move(values), .rows = rows, .rows_of_data = rows, .categorical = categorical},
      rules);
}

TEST(BinMapper, FewValuesHaveABinEach) {
  const BinMapper mapper = MapperOf({2, 1, 3, 2, 1}, 0, SmallRules());
  // No 0 occurs, yet it has its bin, between the negative and the positive ones.
  ASSERT_EQ(mapper.shape().bins, 4U);
  EXPECT_EQ(mapper.UpperBound(0), kZeroThreshold);
  EXPECT_EQ(mapper.UpperBound(1), std::nextafter(1.5, 2));
  EXPECT_EQ(mapper.UpperBound(2), std::nextafter(2.5, 3));
  EXPECT_EQ(mapper.BinOf(0), 0U);
  EXPECT_EQ(mapper.BinOf(1), 1U);
  EXPECT_EQ(mapper.BinOf(1.5), 1U);
  EXPECT_EQ(mapper.BinOf(2), 2U);
  EXPECT_EQ(mapper.BinOf(1e300), 3U);
  EXPECT_EQ(mapper.shape().missing, MissingKind::kNone);
  EXPECT_EQ(mapper.InfoText(), "[1:3]");
}

TEST(BinMapper, ZeroHasABinOfItsOwn) {
  const BinMapper mapper = MapperOf({-5, -4, 7}, 10, SmallRules());
  EXPECT_EQ(mapper.BinOf(-5), 0U);
  EXPECT_EQ(mapper.BinOf(-4), 1U);
  EXPECT_EQ(mapper.BinOf(-1e-30), 1U);
  EXPECT_EQ(mapper.BinOf(0), 2U);
  EXPECT_EQ(mapper.BinOf(1e-36), 2U);
  EXPECT_EQ(mapper.BinOf(1e-30), 3U);
  EXPECT_EQ(mapper.shape().default_bin, 2U);
}

TEST(BinMapper, MissingValuesHaveTheLastBin) {
  const BinMapper mapper = MapperOf({1, 2, kNaN, kNaN}, 0, SmallRules());
  EXPECT_EQ(mapper.shape().missing, MissingKind::kNaN);
  EXPECT_EQ(mapper.BinOf(kNaN), mapper.shape().bins - 1);
  EXPECT_EQ(mapper.BinOf(1e9), mapper.shape().bins - 2);
}

TEST(BinMapper, WithoutMissingValuesNaNIsZero) {
  BinningRules rules = SmallRules();
  rules.use_missing = false;
  const BinMapper mapper = MapperOf({1, 2, kNaN}, 1, rules);
  EXPECT_EQ(mapper.shape().missing, MissingKind::kNone);
  EXPECT_EQ(mapper.BinOf(kNaN), mapper.BinOf(0));
  rules = SmallRules();
  rules.zero_as_missing = true;
  EXPECT_EQ(MapperOf({1, 2, kNaN}, 1, rules).shape().missing, MissingKind::kZero);
}

// Many values: bins hold about as many rows each, and no more bins than asked for.
TEST(BinMapper, ManyValuesShareBinsEvenly) {
  Random random(31);
  std::vector<double> values;
  for (int i = 0; i < 50000; ++i) values.push_back(random.Uniform() - 0.25);
  BinningRules rules = SmallRules();
  rules.max_bin = 64;
  const BinMapper mapper = MapperOf(values, 0, rules);
  ASSERT_LE(mapper.shape().bins, 64U);
  ASSERT_GE(mapper.shape().bins, 60U);
  std::vector<int> rows(mapper.shape().bins);
  for (const double value : values) ++rows[mapper.BinOf(value)];
  for (uint32_t bin = 0; bin < mapper.shape().bins; ++bin) {
    if (bin == mapper.shape().default_bin) continue;
    EXPECT_NEAR(rows[bin], 50000 / 63, 400) << "bin " << bin;
  }
  for (uint32_t bin = 1; bin < mapper.shape().bins; ++bin) {
    EXPECT_GT(mapper.UpperBound(bin), mapper.UpperBound(bin - 1));
  }
}

TEST(BinMapper, BinOfIsTheFirstBoundThatIsNotBelow) {
  Random random(32);
  std::vector<double> values;
  for (int i = 0; i < 3000; ++i) values.push_back(std::floor(random.Uniform() * 500) / 7 - 20);
  const BinMapper mapper = MapperOf(values, 5, {.max_bin = 100, .pre_filter = false});
  for (int i = 0; i < 20000; ++i) {
    const double value = (random.Uniform() - 0.3) * 150;
    uint32_t expected = 0;
    while (value > mapper.UpperBound(expected)) ++expected;
    ASSERT_EQ(mapper.BinOf(value), expected) << value;
  }
}

TEST(BinMapper, CategoriesAreNumberedByHowOftenTheyOccur) {
  std::vector<double> values;
  for (const auto& [category, rows] : {std::pair(7, 50), {3, 400}, {12, 300}, {5, 2}}) {
    values.insert(values.end(), static_cast<size_t>(rows), category);
  }
  values.push_back(kNaN);
  values.push_back(-4);
  const BinMapper mapper = MapperOf(values, 20, {.min_data_in_bin = 3, .pre_filter = false}, true);
  // 5 occurs twice: too rare; it is with missing and negative values in bin 0.
  EXPECT_EQ(std::vector<int32_t>(mapper.categories().begin(), mapper.categories().end()),
            (std::vector<int32_t>{-1, 3, 12, 7, 0}));
  EXPECT_EQ(mapper.BinOf(3), 1U);
  EXPECT_EQ(mapper.BinOf(0), 4U);
  for (const double other : {5.0, 99.0, -4.0, kNaN, 1e12}) EXPECT_EQ(mapper.BinOf(other), 0U);
  EXPECT_EQ(mapper.shape().missing, MissingKind::kNaN);
  EXPECT_EQ(mapper.InfoText(), "-1:3:12:7:0");
}

TEST(BinMapper, AFeatureThatCannotBeSplitIsLeftOut) {
  std::vector<double> values(990, 1.0);
  values.insert(values.end(), 10, 2.0);
  BinningRules rules;
  rules.min_data_in_leaf = 20;
  EXPECT_FALSE(MapperOf(values, 0, rules).is_used());
  EXPECT_EQ(MapperOf(values, 0, rules).InfoText(), "none");
  rules.min_data_in_leaf = 5;
  EXPECT_TRUE(MapperOf(values, 0, rules).is_used());
  EXPECT_FALSE(MapperOf({}, 100, SmallRules()).is_used());
}

TEST(FindDistinct, NeighboursInFloatingPointAreOneValue) {
  const double next = std::nextafter(1.0, 2);
  const std::vector<double> sorted = {-2, -2, 1, next, 3};
  const DistinctValues distinct = FindDistinct(sorted, 4);
  EXPECT_EQ(distinct.values, (std::vector<double>{-2, 0, next, 3}));
  EXPECT_EQ(distinct.rows, (std::vector<int64_t>{2, 4, 2, 1}));
}

TEST(SampleRows, AreAscendingAndAsManyAsWanted) {
  for (const auto& [rows, wanted] :
       {std::pair<size_t, size_t>{10, 20}, {1000, 1}, {100000, 50}, {100000, 40000}}) {
    const std::vector<size_t> chosen = SampleRows(rows, wanted, 1);
    EXPECT_EQ(chosen.size(), std::min(rows, wanted));
    for (size_t i = 0; i < chosen.size(); ++i) {
      ASSERT_LT(chosen[i], rows);
      ASSERT_TRUE(i == 0 || chosen[i] > chosen[i - 1]);
    }
  }
  EXPECT_EQ(SampleRows(100000, 500, 1), SampleRows(100000, 500, 1));
  EXPECT_NE(SampleRows(100000, 500, 1), SampleRows(100000, 500, 2));
}

// Whatever lies how near or far, a bound is found as if all had been looked at.
TEST(BoundGrid, FindsWhatASearchFinds) {
  Random random(31);
  const auto draw = [&](int kind) {
    const double uniform = 2 * random.Uniform() - 1;
    if (kind == 0) return uniform;
    if (kind == 1) return std::ldexp(uniform, static_cast<int>(random.Below(2000)) - 1000);
    if (kind == 2) return 1 + std::ldexp(uniform, -50);
    return uniform * std::numeric_limits<double>::max();
  };
  for (int i = 0; i < 400; ++i) {
    std::vector<double> bounds(random.Below(300));
    for (double& bound : bounds) bound = draw(i % 4);
    std::ranges::sort(bounds);
    const BoundGrid grid(bounds);
    std::vector<double> values = {0, -kZeroThreshold, std::numeric_limits<double>::infinity(),
                                  -std::numeric_limits<double>::infinity()};
    for (int k = 0; k < 30; ++k) values.push_back(draw(i % 4));
    for (const double bound : bounds) {
      values.insert(values.end(),
                    {bound, std::nextafter(bound, 1e308), std::nextafter(bound, -1e308)});
    }
    for (const double value : values) {
      const auto expected =
          std::ranges::count_if(bounds, [&](double bound) { return bound < value; });
      ASSERT_EQ(grid.FirstNotBelow(value, bounds.data()), expected)
          << "case " << i << ": " << value;
    }
  }
}

}  // namespace
}  // namespace strata
