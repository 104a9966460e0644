// The scores of a level's splits, held against plain sums over rows in double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "tests/worker/gbdt/catboost/train/best_split.h"
#include "tests/worker/gbdt/catboost/train/level_rows.h"
#include "worker/gbdt/catboost/train/grow/oblivious_grower.h"

namespace strata {
namespace {

std::unique_ptr<WorkPool> Pool(int threads) {
  return std::move(*WorkPool::Start("test", threads - 1));
}

// Of a split of the leaves that rows are in.
double ScoreOf(const LevelRows& rows, const std::vector<size_t>& leaves, size_t leaf_count,
               const GrowColumn& column, size_t place, const ScoreRule& rule) {
  double gain = 0;
  double norm = 1e-100;
  const size_t count = leaves.size();
  for (size_t k = 0; k < rows.outputs; ++k) {
    std::vector<double> gradients(2 * leaf_count);
    std::vector<double> weights(2 * leaf_count);
    for (size_t row = 0; row < count; ++row) {
      const bool right = GoesRight(column, place, column.bins[row]);
      gradients[2 * leaves[row] + (right ? 1 : 0)] += rows.gradients[k * count + row];
      weights[2 * leaves[row] + (right ? 1 : 0)] += rows.weights[row];
    }
    for (size_t leaf = 0; leaf < gradients.size(); ++leaf) {
      if (weights[leaf] <= 0) continue;
      const double value = gradients[leaf] / (weights[leaf] + rule.l2);
      gain += value * gradients[leaf];
      norm += value * value * weights[leaf];
    }
  }
  return rule.is_cosine ? gain / std::sqrt(norm) : gain;
}

// Grows a tree of some depth; `each` is called with the scores of each level.
template <typename Each>
GrownObliviousTree GrowTree(ObliviousGrower& grower, const LevelRows& rows, size_t depth,
                            const Each& each) {
  grower.Begin(rows.gradients, rows.weights);
  const std::span<const GrowColumn> columns = rows.columns;
  const size_t first = columns.size() - 2;  // two columns come after the second level
  grower.AddFixedColumns(columns.first(first));
  while (grower.levels() < depth) {
    if (grower.levels() == 2) grower.AddColumns(columns.subspan(first));
    const LevelScores& scores = grower.Score();
    each(scores);
    const auto best = BestSplit(scores);
    if (!best.has_value() || !grower.Split(*best)) break;
  }
  return grower.Take();
}

void ExpectScoresOfPlainSums(const LevelRows& rows, const ScoreRule& rule, size_t kept_bytes_max) {
  const std::unique_ptr<WorkPool> pool = Pool(2);
  ObliviousGrower grower(rule, *pool, kept_bytes_max);
  std::vector<size_t> leaves(rows.weights.size());
  for (int tree = 0; tree < 2; ++tree) {  // the second one uses memory of the first
    size_t levels = 0;
    GrowSplit split;  // of the level before
    std::ranges::fill(leaves, 0);
    const GrownObliviousTree grown = GrowTree(grower, rows, 5, [&](const LevelScores& scores) {
      if (levels > 0) {
        for (size_t row = 0; row < leaves.size(); ++row) {
          const GrowColumn& column = rows.columns[split.column];
          const bool right = GoesRight(column, split.place, column.bins[row]);
          leaves[row] |= (right ? size_t{1} : 0) << (levels - 1);
        }
      }
      for (size_t c = 0; c < scores.size(); ++c) {
        ASSERT_EQ(scores[c].size(), rows.columns[c].splits);
        for (size_t place = 0; place < scores[c].size(); ++place) {
          const double score =
              ScoreOf(rows, leaves, size_t{1} << levels, rows.columns[c], place, rule);
          ASSERT_NEAR(scores[c][place], score, 1e-7 * (1 + std::abs(score)))
              << "level " << levels << ", column " << c << ", split " << place;
        }
      }
      split = *BestSplit(scores);
      ++levels;
    });
    EXPECT_EQ(levels, 5U);
  }
}

TEST(LevelScores, AreThoseOfPlainSums) {
  for (const Weights weights : {Weights::kSame, Weights::kSameOrNone, Weights::kAny}) {
    for (const size_t outputs : {1, 3}) {
      for (const size_t columns : {3, 20}) {
        const LevelRows rows = MakeLevelRows(columns, 200, columns, outputs, weights);
        SCOPED_TRACE(testing::Message()
                     << static_cast<int>(weights) << " " << outputs << " " << columns);
        ExpectScoresOfPlainSums(rows, {.is_cosine = true, .l2 = 1.7}, size_t{1} << 30);
        ExpectScoresOfPlainSums(rows, {.is_cosine = false, .l2 = 0.3}, size_t{1} << 30);
        // Nothing is kept, or the first levels alone are.
        ExpectScoresOfPlainSums(rows, {.is_cosine = true, .l2 = 1.7}, 0);
        ExpectScoresOfPlainSums(rows, {.is_cosine = true, .l2 = 1.7}, 65536 * outputs);
      }
    }
  }
}

// Other gradients during a tree give the scores that they would have given from its beginning.
TEST(LevelScores, GradientsMayChange) {
  const std::unique_ptr<WorkPool> pool = Pool(2);
  const LevelRows rows = MakeLevelRows(1, 30000, 6, 2, Weights::kAny);
  const LevelRows others = MakeLevelRows(2, 30000, 6, 2, Weights::kSame);
  ObliviousGrower changed({.is_cosine = true, .l2 = 1}, *pool);
  ObliviousGrower whole({.is_cosine = true, .l2 = 1}, *pool);
  changed.Begin(others.gradients, others.weights);
  changed.AddColumns(rows.columns);
  whole.Begin(rows.gradients, rows.weights);
  whole.AddColumns(rows.columns);
  for (size_t column = 0; column < 3; ++column) {
    changed.Score();
    whole.Score();
    changed.Split({.column = column, .place = 0});
    whole.Split({.column = column, .place = 0});
    if (column == 1) changed.SetGradients(rows.gradients, rows.weights);
  }
  EXPECT_EQ(changed.Score(), whole.Score());
}

// Fixed columns of another tree are not taken for those of the last one.
TEST(LevelScores, FixedColumnsMayBeOthers) {
  const std::unique_ptr<WorkPool> pool = Pool(1);
  LevelRows rows = MakeLevelRows(3, 500, 8, 1, Weights::kSame);
  for (GrowColumn& column : rows.columns) column = {.bins = column.bins, .splits = 255};
  const std::span<const GrowColumn> columns = rows.columns;
  ObliviousGrower grower({.is_cosine = true, .l2 = 1}, *pool);
  for (const auto& of_tree : {columns, columns.first(4), columns.last(4), columns}) {
    ObliviousGrower other({.is_cosine = true, .l2 = 1}, *pool);
    for (ObliviousGrower* const each : {&grower, &other}) {
      each->Begin(rows.gradients, rows.weights);
      each->AddFixedColumns(of_tree);
    }
    EXPECT_EQ(grower.Score(), other.Score());
  }
  grower.Begin(rows.gradients, rows.weights);
  grower.AddColumns(columns.first(4));
  EXPECT_EQ(grower.Score().size(), 4U);
}

// Rows enough for several pieces, and for sums that are carried over.
TEST(LevelScores, HaveTheSameBitsWithAnyThreadsAndMemory) {
  for (const Weights weights : {Weights::kSame, Weights::kAny}) {
    const LevelRows rows = MakeLevelRows(5, 150000, 9, 1, weights);
    std::vector<LevelScores> first;
    std::vector<uint16_t> leaves;
    for (const int threads : {1, 2, 5}) {
      for (const size_t kept_bytes_max : {size_t{1} << 30, size_t{0}}) {
        const std::unique_ptr<WorkPool> pool = Pool(threads);
        ObliviousGrower grower({.is_cosine = true, .l2 = 3}, *pool, kept_bytes_max);
        std::vector<LevelScores> all;
        const GrownObliviousTree tree =
            GrowTree(grower, rows, 6, [&](const LevelScores& scores) { all.push_back(scores); });
        if (first.empty()) {
          first = all;
          leaves = tree.leaves;
        }
        ASSERT_EQ(tree.splits.size(), 6U);
        EXPECT_EQ(all, first) << threads;
        EXPECT_EQ(tree.leaves, leaves) << threads;
      }
    }
  }
}

// Weights of a bin add up to more than 16 bits.
TEST(LevelScores, ABinHasManyRows) {
  const std::unique_ptr<WorkPool> pool = Pool(1);
  constexpr size_t kRows = 200000;
  std::vector<uint8_t> bins(kRows, 0);
  LevelRows rows;
  rows.outputs = 1;
  for (size_t row = 0; row < kRows; ++row) {
    rows.gradients.push_back(row % 3 == 0 ? 1.5 : -0.5);
    rows.weights.push_back(1);
    if (row % 1000 == 0) bins[row] = static_cast<uint8_t>(1 + row / 1000 % 3);
  }
  rows.columns = {{.bins = bins, .splits = 3}};
  const ScoreRule rule = {.is_cosine = true, .l2 = 3};
  ObliviousGrower grower(rule, *pool);
  grower.Begin(rows.gradients, rows.weights);
  grower.AddColumns(rows.columns);
  const LevelScores& scores = grower.Score();
  for (size_t place = 0; place < 3; ++place) {
    const double score = ScoreOf(rows, std::vector<size_t>(kRows), 1, rows.columns[0], place, rule);
    EXPECT_NEAR(scores[0][place], score, 1e-7 * (1 + std::abs(score))) << place;
  }
}

// Numbers that are not finite count as 0, and so do numbers that are too small.
TEST(LevelScores, NumbersThatAreNotFiniteCountAsZero) {
  const std::unique_ptr<WorkPool> pool = Pool(1);
  const std::vector<uint8_t> bins = {0, 1, 0, 1};
  const std::vector<GrowColumn> columns = {{.bins = bins, .splits = 1}};
  ObliviousGrower grower({.is_cosine = false, .l2 = 1}, *pool);
  const double infinity = std::numeric_limits<double>::infinity();
  grower.Begin(std::vector<double>{2, infinity, std::nan(""), -3},
               std::vector<double>{1, 1, 1, infinity});
  grower.AddColumns(columns);
  EXPECT_DOUBLE_EQ(grower.Score()[0][0], 2.0 * 2 / 3 + 9.0 / 2);
  grower.Begin(std::vector<double>{1e-320, 0, 0, 0}, std::vector<double>{0, 0, 0, 0});
  grower.AddColumns(columns);
  EXPECT_EQ(grower.Score()[0][0], 0);
}

}  // namespace
}  // namespace strata
