// Which evaluation is the best, beside a plain search over all of them.
#include "worker/ctr/best_evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"

namespace strata {
namespace {

using testing::HasSubstr;

ClickEvaluation At(uint64_t steps, double auc, double logloss = 0.5) {
  return {.steps = steps,
          .samples = 100 * steps,
          .metrics = {.samples = 10, .auc = auc, .logloss = logloss}};
}

TEST(BestEvaluation, FindsTheFirstOfTheBest) {
  Random random(5);
  for (const BestBy by : {BestBy::kAuc, BestBy::kLogloss}) {
    for (int round = 0; round < 200; ++round) {
      const uint64_t patience = 1 + random.Below(5);
      BestEvaluation best(by, patience);
      std::vector<double> scores;
      size_t expected = 0;
      while (!best.wants_end()) {
        const double value = static_cast<double>(random.Below(4)) / 4;
        scores.push_back(by == BestBy::kAuc ? value : -value);
        for (size_t i = 0; i < scores.size(); ++i) {
          if (scores[i] > scores[expected]) expected = i;
        }
        const auto is_best = best.Add(At(scores.size(), value, value));
        ASSERT_TRUE(is_best.ok());
        EXPECT_EQ(*is_best, expected + 1 == scores.size());
        EXPECT_EQ(best.state()->best.steps, expected + 1);
        EXPECT_EQ(best.state()->evaluated_steps, scores.size());
        EXPECT_EQ(best.state()->since_best, scores.size() - 1 - expected);
      }
      EXPECT_EQ(scores.size() - 1 - expected, patience);
    }
  }
}

TEST(BestEvaluation, GoesOnFromWhatItRemembered) {
  BestEvaluation first(BestBy::kAuc, 2);
  ASSERT_TRUE(first.Add(At(1, 0.8)).ok());
  ASSERT_TRUE(first.Add(At(2, 0.7)).ok());
  BestEvaluation second(BestBy::kAuc, 2);
  ASSERT_TRUE(second.Resume(*first.state()));
  EXPECT_FALSE(*second.Add(At(3, 0.75)));
  EXPECT_TRUE(second.wants_end());
  EXPECT_EQ(second.state()->best.steps, 1U);
  BestEvaluation other(BestBy::kLogloss, 2);
  EXPECT_FALSE(other.Resume(*first.state()));
  EXPECT_FALSE(other.state().has_value());
}

TEST(BestEvaluation, OtherSamplesBeginAnew) {
  BestEvaluation best(BestBy::kAuc, 5);
  ASSERT_TRUE(best.Add(At(1, 0.8)).ok());
  ClickEvaluation other = At(2, 0.6);
  other.metrics.samples = 11;
  EXPECT_TRUE(*best.Add(other));
  EXPECT_EQ(best.state()->best.steps, 2U);
}

TEST(BestEvaluation, WhatCannotBeComputedIsAnError) {
  BestEvaluation best(BestBy::kAuc, 5);
  const auto added = best.Add(At(1, std::nan("")));
  EXPECT_EQ(added.status().code(), StatusCode::kFailed);
  EXPECT_THAT(added.status().message(), HasSubstr("or use train.best_by = \"logloss\""));
  EXPECT_FALSE(best.state().has_value());
}

}  // namespace
}  // namespace strata
