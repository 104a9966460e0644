// Sums over rows, held against plain ones of wider numbers.
#include "worker/gbdt/catboost/train/row_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <utility>

#include "worker/gbdt/catboost/train/leaf_values.h"

namespace strata {
namespace {

constexpr size_t kLeaves = 37;

struct LeafRows {
  std::vector<double> numbers;
  std::vector<uint16_t> leaves;
};

// Below 2^15 in size; most are much smaller.
LeafRows MakeLeafRows(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  LeafRows rows;
  for (size_t row = 0; row < count; ++row) {
    const double number = static_cast<double>(static_cast<int64_t>(random())) * 0x1p-63;
    rows.numbers.push_back(std::ldexp(number, static_cast<int>(random() % 16)));
    rows.leaves.push_back(static_cast<uint16_t>(random() % (kLeaves - 1)));  // the last has none
  }
  return rows;
}

LeafRows Shuffled(const LeafRows& rows, uint64_t seed) {
  std::vector<size_t> order(rows.numbers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::shuffle(order, std::mt19937_64(seed));
  LeafRows shuffled;
  for (const size_t row : order) {
    shuffled.numbers.push_back(rows.numbers[row]);
    shuffled.leaves.push_back(rows.leaves[row]);
  }
  return shuffled;
}

std::vector<double> ByLeaf(const LeafRows& rows, WorkPool& pool) {
  return SumByLeaf<double>(rows.numbers, rows.leaves, kLeaves, pool);
}

double Sum(const std::vector<double>& numbers, WorkPool& pool) {
  return SumRows(numbers.size(), pool, [&](size_t row) { return numbers[row]; });
}

std::unique_ptr<WorkPool> PoolOf(int threads) {
  return std::move(*WorkPool::Start("test", threads));
}

// Up to 30,000 numbers below 2^15 are rounded by up to 2^-32 each, at random.
TEST(RowSums, AreThoseOfWiderNumbers) {
  const std::unique_ptr<WorkPool> pool = PoolOf(1);
  for (const size_t count : {1, 2, 1000, 8192, 30000}) {
    const LeafRows rows = MakeLeafRows(count, count);
    std::vector<long double> expected(kLeaves);
    for (size_t row = 0; row < count; ++row) expected[rows.leaves[row]] += rows.numbers[row];
    const std::vector<double> sums = ByLeaf(rows, *pool);
    ASSERT_EQ(sums.size(), kLeaves);
    for (size_t leaf = 0; leaf < kLeaves; ++leaf) {
      EXPECT_NEAR(sums[leaf], static_cast<double>(expected[leaf]), 2e-8) << count << " " << leaf;
    }
    const long double all = std::accumulate(expected.begin(), expected.end(), 0.0L);
    EXPECT_NEAR(Sum(rows.numbers, *pool), static_cast<double>(all), 1e-7) << count;
  }
}

TEST(RowSums, RangesAreThoseOfOneNumberAfterAnother) {
  std::vector<double> numbers = {0, -0.0, 3e-310, -1e-300, 1, -2.5, -2.25, 1e300};
  for (const double last : {0.5, std::numeric_limits<double>::infinity(), -1e301,
                            -std::numeric_limits<double>::quiet_NaN()}) {
    numbers.push_back(last);
    ExactRange expected;
    for (const double number : numbers) expected.Add(number);
    const ExactRange range = RangeOf(std::span<const double>(numbers));
    EXPECT_EQ(range.largest, expected.largest) << last;
    EXPECT_EQ(range.are_finite, expected.are_finite) << last;
  }
  const std::vector<float> floats = {0.25F, -0.75F};
  EXPECT_EQ(RangeOf(std::span<const float>(floats)).largest, 0.75);
}

TEST(RowSums, DoNotDependOnAnOrderOrOnThreads) {
  const std::unique_ptr<WorkPool> pool = PoolOf(0);
  const std::unique_ptr<WorkPool> threads = PoolOf(3);
  const LeafRows rows = MakeLeafRows(40000, 7);
  const std::vector<double> by_leaf = ByLeaf(rows, *pool);
  const double sum = Sum(rows.numbers, *pool);
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const LeafRows shuffled = Shuffled(rows, seed);
    EXPECT_EQ(ByLeaf(shuffled, *threads), by_leaf) << "seed " << seed;
    EXPECT_EQ(Sum(shuffled.numbers, *threads), sum) << "seed " << seed;
  }
}

TEST(RowSums, OfOneRowOrOfZerosAreExact) {
  const std::unique_ptr<WorkPool> pool = PoolOf(0);
  EXPECT_EQ(Sum({0.1}, *pool), 0.1);
  EXPECT_EQ(Sum({0, 0, -0.0}, *pool), 0);
  EXPECT_EQ(Sum({}, *pool), 0);
  const LeafRows rows = {.numbers = {-1.0 / 3}, .leaves = {5}};
  std::vector<double> expected(kLeaves);
  expected[5] = -1.0 / 3;
  EXPECT_EQ(ByLeaf(rows, *pool), expected);
  EXPECT_EQ(ByLeaf({.numbers = {0, 0}, .leaves = {5, 0}}, *pool), std::vector<double>(kLeaves));
}

TEST(RowSums, TellWhetherARowIsNotFinite) {
  const std::unique_ptr<WorkPool> pool = PoolOf(0);
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double number : {infinity, -infinity, nan}) {
    std::vector<double> numbers(20000, 1.5);
    numbers[9000] = number;
    EXPECT_EQ(Sum(numbers, *pool), infinity) << number;
    std::vector<uint16_t> leaves(numbers.size(), 1);
    leaves[9001] = 0;
    const std::vector<double> sums = SumByLeaf<double>(numbers, leaves, 2, *pool);
    EXPECT_EQ(sums, (std::vector<double>{1.5, 1.5 * 19998})) << number;
  }
}

TEST(MeanLoss, IsNotFiniteWhereARawValueIsNot) {
  const std::unique_ptr<WorkPool> pool = PoolOf(0);
  FitRows rows;
  rows.labels = {1, 0, 1};
  rows.weights = {1, 2, 1};
  rows.weight_sum = 4;
  for (const FitLoss type : {FitLoss::kRmse, FitLoss::kLogloss, FitLoss::kPoisson}) {
    LossSpec loss;
    loss.type = type;
    EXPECT_TRUE(std::isfinite(MeanLoss(loss, rows, std::vector<double>{1, -2, 3}, *pool)));
    for (const double raw :
         {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
      EXPECT_FALSE(std::isfinite(MeanLoss(loss, rows, std::vector<double>{1, raw, 3}, *pool)))
          << FitLossName(type) << " " << raw;
    }
  }
}

}  // namespace
}  // namespace strata
