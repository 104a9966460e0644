// Scores of directed splits, held against plain sums over rows.
#include "worker/gbdt/catboost/train/grow/monotone_scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "tests/worker/gbdt/catboost/train/best_split.h"
#include "worker/gbdt/catboost/train/grow/oblivious_grower.h"

namespace strata {
namespace {

struct DirectedRows {
  std::vector<std::vector<uint8_t>> bins;
  std::vector<GrowColumn> columns;
  std::vector<double> gradients;
  std::vector<double> weights;
};

// Columns that are directed, of values, and free. Some weights are 0.
DirectedRows MakeDirectedRows(uint64_t seed, size_t rows) {
  std::mt19937_64 random(seed);
  DirectedRows made;
  const GrowColumn kinds[] = {{.bins = {}, .splits = 4, .direction = 1},
                              {.bins = {}, .splits = 3, .is_value = true},
                              {.bins = {}, .splits = 2, .direction = -1},
                              {.bins = {}, .splits = 5}};
  for (const GrowColumn& kind : kinds) {
    std::vector<uint8_t>& bins = made.bins.emplace_back();
    for (size_t row = 0; row < rows; ++row) {
      bins.push_back(static_cast<uint8_t>(random() % (kind.splits + 1)));
    }
    made.columns.push_back(kind);
  }
  for (size_t c = 0; c < made.columns.size(); ++c) made.columns[c].bins = made.bins[c];
  for (size_t row = 0; row < rows; ++row) {
    made.gradients.push_back(static_cast<double>(random() % 1000) / 500 - 1);
    made.weights.push_back(static_cast<double>(random() % 3));
  }
  return made;
}

double PlainScore(const DirectedRows& rows, std::vector<GrowSplit> splits, const GrowSplit& last,
                  const ScoreRule& rule) {
  splits.push_back(last);
  std::vector<int8_t> directions;
  for (const GrowSplit& split : splits) directions.push_back(rows.columns[split.column].direction);
  std::vector<double> gradients(size_t{1} << splits.size());
  std::vector<double> weights(gradients.size());
  for (size_t row = 0; row < rows.weights.size(); ++row) {
    size_t leaf = 0;
    for (size_t k = 0; k < splits.size(); ++k) {
      const GrowColumn& column = rows.columns[splits[k].column];
      leaf |= size_t{GoesRight(column, splits[k].place, column.bins[row])} << k;
    }
    gradients[leaf] += rows.gradients[row];
    weights[leaf] += rows.weights[row];
  }
  std::vector<double> values(gradients.size());
  std::vector<double> bound_weights(gradients.size());
  for (size_t leaf = 0; leaf < values.size(); ++leaf) {
    bound_weights[leaf] = weights[leaf] + rule.l2;
    values[leaf] = weights[leaf] > 0 ? gradients[leaf] / bound_weights[leaf] : 0;
  }
  MonotoneLeaves(directions).Project(bound_weights, values);
  double gain = 0;
  double norm = 1e-100;
  for (size_t leaf = 0; leaf < values.size(); ++leaf) {
    gain += values[leaf] * gradients[leaf];
    norm += values[leaf] * values[leaf] * weights[leaf];
  }
  return rule.is_cosine ? gain / std::sqrt(norm) : gain;
}

TEST(MonotoneScores, AreThoseOfPlainSums) {
  const std::unique_ptr<WorkPool> pool = std::move(*WorkPool::Start("test", 1));
  for (const bool is_cosine : {true, false}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const DirectedRows rows = MakeDirectedRows(seed, 60);
      const ScoreRule rule = {.is_cosine = is_cosine, .l2 = 0.8};
      ObliviousGrower grower(rule, *pool);
      grower.Begin(rows.gradients, rows.weights);
      grower.AddColumns(rows.columns);
      std::vector<GrowSplit> splits;
      while (splits.size() < 4) {
        const LevelScores& scores = grower.Score();
        for (size_t column = 0; column < scores.size(); ++column) {
          for (size_t place = 0; place < scores[column].size(); ++place) {
            EXPECT_NEAR(scores[column][place], PlainScore(rows, splits, {column, place}, rule),
                        1e-6)
                << seed << ", level " << splits.size() << ", column " << column << ", " << place;
          }
        }
        // Each column in turn, whatever the scores are.
        splits.push_back({.column = splits.size(), .place = seed % 2});
        ASSERT_TRUE(grower.Split(splits.back())) << seed;
      }
    }
  }
}

}  // namespace
}  // namespace strata
