// Constants that minimise quantile losses, held against all candidates.
#include "worker/gbdt/catboost/train/weighted_quantile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "worker/gbdt/catboost/train/fit_losses.h"

namespace strata {
namespace {

LossSpec WithoutDelta(FitLoss type, double alpha) {
  LossSpec loss = type;
  loss.alpha = alpha;
  loss.delta = 0;
  return loss;
}

// Fewer than 100 values, and more, which are searched otherwise.
TEST(BestConstant, NoValueHasALowerLoss) {
  std::mt19937_64 random(11);
  for (const size_t count : {1, 2, 7, 99, 100, 240}) {
    for (const double alpha : {0.1, 0.5, 0.9}) {
      const LossSpec loss = WithoutDelta(FitLoss::kQuantile, alpha);
      std::vector<WeightedValue> values(count);
      for (WeightedValue& item : values) {
        item = {.value = static_cast<float>(random() % 64) / 8 - 3,
                .weight = static_cast<float>(random() % 4) / 2};
      }
      const auto total = [&](double constant) {
        double sum = 0;
        for (const WeightedValue& item : values) {
          sum += item.weight * QuantileLoss{.alpha = alpha}.Value(constant, item.value);
        }
        return sum;
      };
      std::vector<WeightedValue> copy = values;
      const double best = total(BestConstant(loss, copy));
      for (const WeightedValue& item : values) EXPECT_LE(best, total(item.value) + 1e-9) << count;
    }
  }
}

TEST(BestConstant, DeltaMovesItToTheLighterSide) {
  LossSpec loss = FitLoss::kMae;
  loss.delta = 0.25;
  std::vector<WeightedValue> values = {{1, 1}, {2, 1}, {3, 1}};
  EXPECT_EQ(BestConstant(loss, values), 1.75F) << "2 has 1 below it, and half of its own 1";
  values = {{1, 1}, {2, 1}, {4, 0}, {3, 1.5}};
  EXPECT_EQ(BestConstant(loss, values), 2.25F);
  EXPECT_EQ(BestConstant(loss, {}), 0);
}

TEST(BestConstant, TheEndsAreTheLeastAndTheLargest) {
  std::vector<WeightedValue> values = {{3, 1}, {-1, 0}, {2, 1}};
  EXPECT_EQ(BestConstant(WithoutDelta(FitLoss::kQuantile, 0), values), -1);
  EXPECT_EQ(BestConstant(WithoutDelta(FitLoss::kQuantile, 1), values), 3);
}

TEST(BestConstant, OfMapeLargeValuesWeighLess) {
  std::vector<WeightedValue> values = {{0.5F, 1}, {10, 4}, {12, 4}};
  EXPECT_EQ(BestConstant(FitLoss::kMape, values), 0.5F);
}

// Many equal values of 0 come out above 0, as CatBoost has them, so that delta lowers them.
TEST(BestConstant, ZeroAmongManyIsLowered) {
  std::vector<WeightedValue> values(200, {.value = 1, .weight = 1});
  for (size_t i = 0; i < 110; ++i) values[i] = {.value = i < 80 ? 0.0F : -1.0F, .weight = 1};
  EXPECT_EQ(BestConstant(FitLoss::kMae, values), -1e-6F);
}

}  // namespace
}  // namespace strata
