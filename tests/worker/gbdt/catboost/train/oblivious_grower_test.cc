// Splits and leaves of one tree, held against plain sums over rows.
#include "worker/gbdt/catboost/train/grow/oblivious_grower.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <random>

#include "tests/worker/gbdt/catboost/train/best_split.h"
#include "worker/gbdt/catboost/train/fit_losses.h"
#include "worker/gbdt/catboost/train/leaf_values.h"
#include "worker/gbdt/catboost/train/tree_columns.h"

namespace strata {
namespace {

constexpr double kL2 = 1.7;

struct RandomRows {
  CatBoostModel model;
  FitRows rows;
  std::vector<double> raw;
};

// Columns of few bins and of many; labels are 0 and 1, and some weights are 0.
RandomRows MakeRows(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t end) { return random() % end; };
  RandomRows made;
  for (const size_t borders : {3, 1, 12, 255, 2}) {
    CatBoostNumber& number = made.model.numbers.emplace_back();
    number.index = static_cast<uint32_t>(made.model.numbers.size() - 1);
    for (size_t i = 0; i < borders; ++i) number.borders.push_back(static_cast<float>(i));
    for (size_t row = 0; row < count; ++row) {
      made.rows.bins.push_back(static_cast<uint8_t>(below(borders + 1)));
    }
  }
  made.model.ListFeatureSplits();
  for (size_t row = 0; row < count; ++row) {
    made.rows.labels.push_back(below(3) == 0 ? 1 : 0);
    made.rows.weights.push_back(static_cast<float>(below(5)) / 3);
    made.raw.push_back(static_cast<double>(below(2000)) / 500 - 2);
  }
  made.rows.weight_sum = std::accumulate(made.rows.weights.begin(), made.rows.weights.end(), 0.0);
  return made;
}

std::unique_ptr<WorkPool> Pool() { return std::move(*WorkPool::Start("test", 1)); }

ObliviousTree Grow(const RandomRows& made, const FitParameters& p, WorkPool& pool) {
  std::vector<double> gradients(made.rows.rows());
  std::vector<double> weights(gradients.size());
  DeriveRows(p, made.rows, made.raw, pool, gradients, weights);
  const TreeColumns columns = FeatureColumns(made.model, made.rows);
  ObliviousGrower grower(
      {.is_cosine = p.score == ScoreFunction::kCosine || p.score == ScoreFunction::kNewtonCosine,
       .l2 = kL2},
      pool);
  grower.Begin(gradients, weights);
  grower.AddColumns(columns.columns);
  while (grower.levels() < p.depth) {
    const std::optional<GrowSplit> best = BestSplit(grower.Score());
    if (!best.has_value() || !grower.Split(*best)) break;
  }
  GrownObliviousTree grown = grower.Take();
  ObliviousTree tree = {.splits = {}, .leaves = std::move(grown.leaves)};
  for (const GrowSplit& split : grown.splits) tree.splits.push_back(columns.ModelSplit(split));
  return tree;
}

// A split's bit of a row.
size_t BitOf(const RandomRows& made, uint32_t split, size_t row) {
  const CatBoostSplit& of = made.model.splits[split];
  return made.rows.Column(of.of)[row] > of.place ? 1 : 0;
}

size_t LeafOf(const RandomRows& made, const std::vector<uint32_t>& splits, size_t row) {
  size_t leaf = 0;
  for (size_t k = 0; k < splits.size(); ++k) leaf |= BitOf(made, splits[k], row) << k;
  return leaf;
}

double ScoreOf(const RandomRows& made, std::vector<uint32_t> splits, uint32_t split,
               ScoreFunction function) {
  splits.push_back(split);
  std::vector<double> gradients(size_t{1} << splits.size());
  std::vector<double> weights(gradients.size());
  for (size_t row = 0; row < made.rows.rows(); ++row) {
    const size_t leaf = LeafOf(made, splits, row);
    const double p = 1 / (1 + std::exp(-made.raw[row]));
    const double weight = made.rows.weights[row];
    gradients[leaf] += weight * (made.rows.labels[row] - p);
    const bool is_newton =
        function == ScoreFunction::kNewtonCosine || function == ScoreFunction::kNewtonL2;
    weights[leaf] += is_newton ? weight * p * (1 - p) : weight;
  }
  double gain = 0;
  double norm = 1e-100;
  for (size_t leaf = 0; leaf < gradients.size(); ++leaf) {
    if (weights[leaf] <= 0) continue;
    const double value = gradients[leaf] / (weights[leaf] + kL2);
    gain += value * gradients[leaf];
    norm += value * value * weights[leaf];
  }
  const bool is_cosine =
      function == ScoreFunction::kNewtonCosine || function == ScoreFunction::kCosine;
  return is_cosine ? gain / std::sqrt(norm) : gain;
}

TEST(ObliviousGrower, EachLevelHasTheBestScore) {
  const std::unique_ptr<WorkPool> pool = Pool();
  for (const ScoreFunction function : {ScoreFunction::kCosine, ScoreFunction::kL2,
                                       ScoreFunction::kNewtonCosine, ScoreFunction::kNewtonL2}) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      const RandomRows made = MakeRows(seed, 300);
      FitParameters p;
      p.loss = FitLoss::kLogloss;
      p.depth = 4;
      p.score = function;
      const ObliviousTree tree = Grow(made, p, *pool);
      ASSERT_EQ(tree.splits.size(), 4U) << "seed " << seed;
      std::vector<uint32_t> splits;
      for (const uint32_t split : tree.splits) {
        const double score = ScoreOf(made, splits, split, function);
        for (uint32_t other = 0; other < made.model.splits.size(); ++other) {
          EXPECT_LE(ScoreOf(made, splits, other, function), score + 1e-9 * std::abs(score))
              << "seed " << seed << ", level " << splits.size() << ", split " << other;
        }
        splits.push_back(split);
      }
      for (size_t row = 0; row < 300; ++row) {
        ASSERT_EQ(tree.leaves[row], LeafOf(made, splits, row)) << row;
      }
    }
  }
}

// With two columns of a border each, the third split tells nothing apart, whichever it is.
TEST(ObliviousGrower, ARedundantSplitEndsTheTree) {
  const std::unique_ptr<WorkPool> pool = Pool();
  RandomRows made = MakeRows(3, 80);
  made.model.numbers.resize(2);
  made.model.numbers[0].borders = {0};
  made.model.numbers[1].borders = {0};
  made.model.splits.clear();
  made.model.ListFeatureSplits();
  for (uint8_t& bin : made.rows.bins) bin = bin > 0 ? 1 : 0;
  FitParameters p;
  p.loss = FitLoss::kLogloss;
  const ObliviousTree tree = Grow(made, p, *pool);
  ASSERT_EQ(tree.splits.size(), 2U);
  EXPECT_NE(tree.splits[0], tree.splits[1]);
  for (size_t row = 0; row < 80; ++row) {
    ASSERT_EQ(tree.leaves[row], LeafOf(made, tree.splits, row)) << row;
  }
}

// Many Newton steps with no regularisation end where the derivative of each leaf is 0.
TEST(LeafValues, NewtonFindsTheMinimum) {
  const std::unique_ptr<WorkPool> pool = Pool();
  const RandomRows made = MakeRows(9, 200);
  FitParameters p;
  p.loss = FitLoss::kLogloss;
  ObliviousTree tree;
  tree.splits = {1, 3};
  for (size_t row = 0; row < 200; ++row) {
    tree.leaves.push_back(static_cast<uint16_t>(LeafOf(made, tree.splits, row)));
  }
  const std::vector<double> values = *LeafValues(p, 60, 0, made.rows, tree, made.raw, *pool);
  const std::vector<double> weights = LeafWeights(made.rows, tree, *pool);
  std::vector<double> slopes(4);
  std::vector<double> sums(4);
  for (size_t row = 0; row < 200; ++row) {
    const size_t leaf = tree.leaves[row];
    const double p_of_row = 1 / (1 + std::exp(-made.raw[row] - values[leaf]));
    slopes[leaf] += made.rows.weights[row] * (made.rows.labels[row] - p_of_row);
    sums[leaf] += made.rows.weights[row];
  }
  for (size_t leaf = 0; leaf < 4; ++leaf) {
    EXPECT_NEAR(slopes[leaf], 0, 1e-5) << leaf;
    EXPECT_NEAR(weights[leaf], sums[leaf], 1e-9) << leaf;
  }
}

}  // namespace
}  // namespace strata
