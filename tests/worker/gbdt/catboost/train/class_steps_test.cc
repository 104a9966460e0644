// Losses of several classes and their leaves, held against plain sums in double.
#include "worker/gbdt/catboost/train/class_steps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "worker/gbdt/catboost/train/class_losses.h"
#include "worker/gbdt/catboost/train/class_rows.h"

namespace strata {
namespace {

constexpr size_t kRows = 90;
constexpr size_t kLeaves = 4;

struct Case {
  FitRows rows;
  ObliviousTree tree;
  std::vector<double> raw;  // output * rows + row
};

Case MakeCase(uint64_t seed, size_t outputs) {
  std::mt19937_64 random(seed);
  Case made;
  made.tree.splits = {0, 1};
  for (size_t row = 0; row < kRows; ++row) {
    made.rows.labels.push_back(static_cast<float>(random() % outputs));
    made.rows.weights.push_back(static_cast<float>(random() % 4) / 2);
    made.tree.leaves.push_back(static_cast<uint16_t>(random() % (kLeaves - 1)));  // one is empty
  }
  for (size_t i = 0; i < kRows * outputs; ++i) {
    made.raw.push_back(static_cast<double>(random() % 4000) / 1000 - 2);
  }
  made.rows.weight_sum = std::accumulate(made.rows.weights.begin(), made.rows.weights.end(), 0.0);
  return made;
}

std::unique_ptr<WorkPool> Pool(int threads) { return std::move(*WorkPool::Start("test", threads)); }

FitParameters Parameters(FitLoss loss, LeafMethod method) {
  FitParameters p;
  p.loss = loss;
  p.leaf_method = method;
  return p;
}

// The sum of weight * loss over the rows of a leaf, whose raw values have moved.
double LeafLoss(FitLoss loss, const Case& made, size_t leaf, const std::vector<double>& moved) {
  const size_t outputs = made.raw.size() / kRows;
  double sum = 0;
  for (size_t row = 0; row < kRows; ++row) {
    if (made.tree.leaves[row] != leaf) continue;
    std::vector<double> values(outputs);
    for (size_t k = 0; k < outputs; ++k) values[k] = made.raw[k * kRows + row] + moved[k];
    sum += made.rows.weights[row] * WithClassLoss(loss, [&](auto of) {
             return of.Value(values, static_cast<size_t>(made.rows.labels[row]));
           });
  }
  // CatBoost's derivatives of MultiClassOneVsAll are those of the sum over the outputs.
  return loss == FitLoss::kMultiClass ? sum : sum * static_cast<double>(outputs);
}

// What Newton's step must solve: its product with the second derivatives of the loss and l2 is the
// gradient, both by differences.
TEST(ClassSteps, NewtonSolvesTheEquationOfTheLoss) {
  const std::unique_ptr<WorkPool> pool = Pool(2);
  constexpr double kL2 = 1.5;
  constexpr double kStep = 1e-3;
  for (const FitLoss loss : {FitLoss::kMultiClass, FitLoss::kMultiClassOneVsAll}) {
    for (const size_t outputs : {2, 3, 5}) {
      const Case made = MakeCase(outputs, outputs);
      const std::vector<double> steps = ClassSteps(Parameters(loss, LeafMethod::kNewton), kL2,
                                                   made.rows, made.tree, made.raw, *pool);
      ASSERT_EQ(steps.size(), kLeaves * outputs);
      for (size_t leaf = 0; leaf < kLeaves; ++leaf) {
        const auto at = [&](size_t i, double by_i, size_t j, double by_j) {
          std::vector<double> moved(outputs);
          moved[i] += by_i;
          moved[j] += by_j;
          return LeafLoss(loss, made, leaf, moved);
        };
        for (size_t i = 0; i < outputs; ++i) {
          const double gradient = (at(i, -kStep, i, 0) - at(i, kStep, i, 0)) / (2 * kStep);
          double product = kL2 * steps[leaf * outputs + i];
          for (size_t j = 0; j < outputs; ++j) {
            const double second = (at(i, kStep, j, kStep) - at(i, kStep, j, -kStep) -
                                   at(i, -kStep, j, kStep) + at(i, -kStep, j, -kStep)) /
                                  (4 * kStep * kStep);
            product += second * steps[leaf * outputs + j];
          }
          EXPECT_NEAR(product, gradient, 1e-5) << outputs << " " << leaf << " " << i;
        }
      }
    }
  }
}

TEST(ClassSteps, GradientDividesByTheWeights) {
  const std::unique_ptr<WorkPool> pool = Pool(1);
  const Case made = MakeCase(7, 3);
  std::vector<double> gradients(made.raw.size());
  DeriveClasses(FitLoss::kMultiClass, made.rows, made.raw, *pool, gradients);
  const std::vector<double> steps =
      ClassSteps(Parameters(FitLoss::kMultiClass, LeafMethod::kGradient), 0.7, made.rows, made.tree,
                 made.raw, *pool);
  for (size_t leaf = 0; leaf < kLeaves; ++leaf) {
    for (size_t k = 0; k < 3; ++k) {
      double sum = 0;
      double weight = 0.7;
      for (size_t row = 0; row < kRows; ++row) {
        if (made.tree.leaves[row] != leaf) continue;
        sum += gradients[k * kRows + row];
        weight += made.rows.weights[row];
      }
      EXPECT_NEAR(steps[leaf * 3 + k], sum / weight, 1e-12) << leaf << " " << k;
    }
  }
}

// Without regularisation the second derivatives of MultiClass are singular: all raw values of a row
// may rise alike.
TEST(ClassSteps, NewtonNeedsNoRegularisation) {
  const std::unique_ptr<WorkPool> pool = Pool(1);
  Case made = MakeCase(3, 4);
  const FitParameters p = Parameters(FitLoss::kMultiClass, LeafMethod::kNewton);
  std::vector<double> gradients(made.raw.size());
  for (int iteration = 0; iteration < 30; ++iteration) {
    const std::vector<double> steps = ClassSteps(p, 1e-20, made.rows, made.tree, made.raw, *pool);
    for (size_t i = 0; i < made.raw.size(); ++i) {
      made.raw[i] += steps[made.tree.leaves[i % kRows] * 4 + i / kRows];
    }
  }
  DeriveClasses(p.loss.type, made.rows, made.raw, *pool, gradients);
  std::vector<double> sums(kLeaves * 4);
  for (size_t i = 0; i < gradients.size(); ++i) {
    sums[made.tree.leaves[i % kRows] * 4 + i / kRows] += gradients[i];
  }
  for (const double sum : sums) EXPECT_NEAR(sum, 0, 1e-9);
}

TEST(ClassSteps, ThreadsDoNotShow) {
  const Case made = MakeCase(5, 6);
  const FitParameters p = Parameters(FitLoss::kMultiClass, LeafMethod::kNewton);
  const std::vector<double> one = ClassSteps(p, 1, made.rows, made.tree, made.raw, *Pool(1));
  EXPECT_EQ(ClassSteps(p, 1, made.rows, made.tree, made.raw, *Pool(5)), one);
}

// With so many outputs, three leaves are solved at once. The numbers of leaves do not matter.
TEST(ClassSteps, AllLeavesAreSolved) {
  const std::unique_ptr<WorkPool> pool = Pool(2);
  constexpr size_t kOutputs = 1025;
  Case made = MakeCase(8, kOutputs);
  const FitParameters p = Parameters(FitLoss::kMultiClass, LeafMethod::kNewton);
  const std::vector<double> steps = ClassSteps(p, 1, made.rows, made.tree, made.raw, *pool);
  for (uint16_t& leaf : made.tree.leaves) leaf = static_cast<uint16_t>(kLeaves - 1 - leaf);
  const std::vector<double> turned = ClassSteps(p, 1, made.rows, made.tree, made.raw, *pool);
  ASSERT_EQ(turned.size(), kLeaves * kOutputs);
  for (size_t at = 0; at < turned.size(); ++at) {
    const size_t leaf = kLeaves - 1 - at / kOutputs;
    ASSERT_EQ(turned[at], steps[leaf * kOutputs + at % kOutputs]) << at;
  }
  EXPECT_NE(turned.back(), 0);
}

TEST(ClassRows, AccuracyTakesTheFirstOfEqualOutputs) {
  FitRows rows;
  rows.labels = {0, 1, 2};
  rows.weights = {1, 2, 4};
  rows.weight_sum = 7;
  const std::vector<double> raw = {1, 3, 0, 1, 3, 0, 0, 0, 5};  // rows (1,1,0), (3,3,0), (0,0,5)
  EXPECT_DOUBLE_EQ(ClassAccuracy(rows, raw, *Pool(1)), 5.0 / 7);
}

TEST(ClassLosses, LargeValuesDoNotOverflow) {
  const std::vector<double> raw = {900, -900, 0};
  EXPECT_DOUBLE_EQ(SoftmaxLoss::Value(raw, 1), 1800);
  EXPECT_DOUBLE_EQ(SoftmaxLoss::Value(raw, 0), 0);
  EXPECT_NEAR(OneVsAllLoss::Value(raw, 1), (900 + 900 + std::log(2)) / 3, 1e-9);
}

}  // namespace
}  // namespace strata
