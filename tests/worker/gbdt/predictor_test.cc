#include "worker/gbdt/predict/predictor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <string>

#include "tests/worker/gbdt/golden_model.h"
#include "tests/worker/gbdt/random_model.h"

namespace strata {
namespace {

constexpr size_t kFeatures = 5;

// Sums in the order of the trees, row by row.
std::vector<double> PlainScores(const TreeModel& model,
                                const std::vector<std::vector<double>>& rows, size_t begin,
                                size_t end) {
  const size_t classes = model.classes;
  const size_t in_round = model.trees_per_iteration;
  std::vector<double> scores(rows.size() * classes, 0);
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t t = begin * in_round; t < end * in_round; ++t) {
      const Tree& tree = model.trees[t];
      scores[i * classes + t % classes] += tree.leaves[tree.LeafOf(rows[i])].value;
    }
  }
  return scores;
}

std::vector<double> Predicted(const TreeModel& model, const std::vector<std::vector<double>>& rows,
                              const PredictOptions& options, int threads = 0) {
  const Result<Predictor> predictor = Predictor::Make(model, options);
  EXPECT_TRUE(predictor.ok()) << predictor.status().ToString();
  if (!predictor.ok()) return {};
  const auto pool = WorkPool::Start("test", threads);
  std::vector<double> out;
  EXPECT_TRUE(predictor->Predict(ToSparse(rows), **pool, &out).ok());
  return out;
}

TEST(Predictor, SumsLeavesInTheOrderOfTheTrees) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    const TreeModel model = RandomModel({.features = kFeatures,
                                         .classes = 1 + seed % 3,
                                         .parallel = 1 + seed % 2,
                                         .iterations = 4,
                                         .leaves = 1 + seed * 3 % 40,
                                         .categorical = seed % 2 == 0},
                                        random);
    const auto rows = RandomRows(kFeatures, 333, random);
    EXPECT_EQ(Predicted(model, rows, {.kind = PredictionKind::kRaw}),
              PlainScores(model, rows, 0, 4))
        << "seed " << seed;
    EXPECT_EQ(Predicted(model, rows, {.kind = PredictionKind::kRaw}, 2),
              PlainScores(model, rows, 0, 4))
        << "seed " << seed;
  }
}

TEST(Predictor, LeavesAreThoseOfTheModel) {
  Random random(3);
  const TreeModel model = RandomModel(
      {.features = kFeatures, .iterations = 6, .leaves = 20, .categorical = true}, random);
  const auto rows = RandomRows(kFeatures, 100, random);
  std::vector<double> expected;
  for (const std::vector<double>& row : rows) {
    for (const Tree& tree : model.trees) expected.push_back(static_cast<double>(tree.LeafOf(row)));
  }
  EXPECT_EQ(Predicted(model, rows, {.kind = PredictionKind::kLeaves}), expected);
}

TEST(Predictor, TakesAPartOfTheIterations) {
  Random random(4);
  const TreeModel model = RandomModel(
      {.features = kFeatures, .classes = 2, .parallel = 3, .iterations = 9, .leaves = 10}, random);
  const auto rows = RandomRows(kFeatures, 50, random);
  const auto raw = [&](size_t start, size_t count) {
    return Predicted(model, rows,
                     {.kind = PredictionKind::kRaw, .start_iteration = start, .iterations = count});
  };
  EXPECT_EQ(raw(2, 3), PlainScores(model, rows, 2, 5));
  EXPECT_EQ(raw(7, 100), PlainScores(model, rows, 7, 9));
  EXPECT_EQ(raw(100, 1), std::vector<double>(100, 0));
}

TEST(Predictor, StopsEarlyWhereARowIsSure) {
  for (const auto& [classes, parallel] :
       {std::pair<size_t, size_t>{1, 1}, {3, 1}, {1, 2}, {3, 2}}) {
    Random random(5);
    TreeModel model = RandomModel({.features = kFeatures,
                                   .classes = classes,
                                   .parallel = parallel,
                                   .iterations = 20,
                                   .leaves = 10},
                                  random);
    model.objective = classes == 1 ? "binary sigmoid:1" : "multiclass num_class:3";
    const auto rows = RandomRows(kFeatures, 200, random);
    const double margin = 3;
    std::vector<double> expected;
    size_t stopped = 0;
    for (const std::vector<double>& row : rows) {
      for (size_t end = 4;; end += 4) {
        std::vector<double> scores = PlainScores(model, {row}, 0, end);
        std::vector<double> sorted = scores;
        std::ranges::sort(sorted, std::greater());
        const double sure = classes == 1 ? 2 * std::fabs(scores[0]) : sorted[0] - sorted[1];
        if (sure <= margin && end < 20) continue;
        stopped += end < 20 ? 1 : 0;
        expected.insert(expected.end(), scores.begin(), scores.end());
        break;
      }
    }
    EXPECT_GT(stopped, 10U);
    EXPECT_LT(stopped, 190U);
    EXPECT_EQ(
        Predicted(model, rows,
                  {.kind = PredictionKind::kRaw, .early_stop = {.freq = 4, .margin = margin}}),
        expected);
  }
}

// Where there is no GPU; where there is one, predictor_gpu_test.cc has more.
TEST(Predictor, AGpuThatIsNotThereIsSaid) {
  Random random(6);
  const TreeModel model = RandomModel({.features = kFeatures, .leaves = 4}, random);
  const Result<Predictor> cuda = Predictor::Make(
      model, {.kind = PredictionKind::kRaw, .device = {.kind = DeviceKind::kCuda, .ordinal = 99}});
  ASSERT_FALSE(cuda.ok());
  EXPECT_EQ(cuda.status().code(), StatusCode::kNotFound) << cuda.status().ToString();
  const Result<Predictor> any = Predictor::Make(
      model, {.kind = PredictionKind::kRaw, .device = {.kind = std::nullopt, .ordinal = 99}});
  ASSERT_TRUE(any.ok());
  EXPECT_FALSE(any->on_gpu());
}

TEST(Predictor, WhatDoesNotFitIsSaid) {
  Random random(6);
  TreeModel model = RandomModel({.features = kFeatures, .leaves = 4}, random);
  model.objective = "regression";
  Result<Predictor> predictor = Predictor::Make(model, {.early_stop = {.freq = 1}});
  ASSERT_FALSE(predictor.ok());
  EXPECT_NE(predictor.status().message().find("pred_early_stop leaves out trees that objective = "
                                              "regression needs"),
            std::string::npos);
  model.objective = "rocket";
  EXPECT_FALSE(Predictor::Make(model, {}).ok());
  EXPECT_TRUE(Predictor::Make(model, {.kind = PredictionKind::kRaw}).ok());
  for (TreeNode& node : model.trees[0].nodes) node.rows = 0;
  for (TreeNode& node : model.trees[0].nodes) node.weight = 0;
  predictor = Predictor::Make(model, {.kind = PredictionKind::kContributions});
  ASSERT_FALSE(predictor.ok());
  EXPECT_NE(predictor.status().message().find("tree 0: contributions need the number of rows"),
            std::string::npos);
}

// The tree's output where only the features of `known` are known: both sides of other nodes, by
// their rows.
double OutputOfSubset(const Tree& tree, int32_t at, const std::vector<double>& row,
                      uint32_t known) {
  if (at < 0) return tree.leaves[static_cast<size_t>(~at)].value;
  const TreeNode& node = tree.nodes[static_cast<size_t>(at)];
  const auto feature = static_cast<size_t>(node.feature);
  if ((known >> feature & 1) != 0) {
    return OutputOfSubset(tree, tree.GoesLeft(node, row[feature]) ? node.left : node.right, row,
                          known);
  }
  const auto rows_of = [&](int32_t child) {
    return static_cast<double>(child < 0 ? tree.leaves[static_cast<size_t>(~child)].rows
                                         : tree.nodes[static_cast<size_t>(child)].rows);
  };
  return (rows_of(node.left) * OutputOfSubset(tree, node.left, row, known) +
          rows_of(node.right) * OutputOfSubset(tree, node.right, row, known)) /
         static_cast<double>(node.rows);
}

// Shapley's own formula, over all subsets.
std::vector<double> BruteForce(const Tree& tree, const std::vector<double>& row) {
  const auto output = [&](uint32_t known) {
    return OutputOfSubset(tree, tree.nodes.empty() ? ~0 : 0, row, known);
  };
  std::vector<double> values(kFeatures + 1, 0);
  const double factorials[] = {1, 1, 2, 6, 24, 120};
  for (size_t f = 0; f < kFeatures; ++f) {
    for (uint32_t subset = 0; subset < 1U << kFeatures; ++subset) {
      if ((subset >> f & 1) != 0) continue;
      const auto size = static_cast<size_t>(std::popcount(subset));
      values[f] += factorials[size] * factorials[kFeatures - 1 - size] / factorials[kFeatures] *
                   (output(subset | 1U << f) - output(subset));
    }
  }
  values[kFeatures] = output(0);
  return values;
}

TEST(Contributions, AreShapleyValues) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const TreeModel model = RandomModel({.features = kFeatures,
                                         .iterations = 1,
                                         .leaves = 1 + random.Below(24),
                                         .categorical = seed % 2 == 0},
                                        random);
    const auto rows = RandomRows(kFeatures, 10, random);
    std::vector<double> expected;
    for (const std::vector<double>& row : rows) {
      const std::vector<double> one = BruteForce(model.trees[0], row);
      expected.insert(expected.end(), one.begin(), one.end());
    }
    ExpectClose(Predicted(model, rows, {.kind = PredictionKind::kContributions}), expected, 1e-12,
                "seed " + std::to_string(seed));
  }
}

TEST(Contributions, AddUpToTheScore) {
  Random random(8);
  const TreeModel model =
      RandomModel({.features = kFeatures, .classes = 2, .iterations = 5, .leaves = 200}, random);
  const auto rows = RandomRows(kFeatures, 20, random);
  const std::vector<double> all = Predicted(model, rows, {.kind = PredictionKind::kContributions});
  std::vector<double> sums(rows.size() * 2, 0);
  for (size_t i = 0; i < all.size(); ++i) sums[i / (kFeatures + 1)] += all[i];
  ExpectClose(sums, PlainScores(model, rows, 0, 5), 1e-11, "sums");
}

}  // namespace
}  // namespace strata
