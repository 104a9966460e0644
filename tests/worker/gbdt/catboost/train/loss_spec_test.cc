// Losses as texts with parameters.
#include "worker/gbdt/catboost/train/loss_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

using testing::HasSubstr;

TEST(LossSpec, IsReadWithItsParameters) {
  const Result<LossSpec> loss = ParseLoss("Quantile:alpha=0.30;delta=1e-3");
  ASSERT_TRUE(loss.ok()) << loss.status().ToString();
  EXPECT_EQ(loss->type, FitLoss::kQuantile);
  EXPECT_EQ(loss->alpha, 0.3);
  EXPECT_EQ(loss->delta, 0.001);
  EXPECT_EQ(LossText(*loss), "Quantile:alpha=0.30;delta=1e-3");
  EXPECT_EQ(ParseLoss("Quantile")->alpha, 0.5);
  EXPECT_EQ(ParseLoss("Quantile")->delta, 1e-6);
  EXPECT_EQ(ParseLoss("Tweedie:variance_power=1.7")->variance_power, 1.7);
  EXPECT_EQ(ParseLoss("Quantile:alpha=0")->alpha, 0);
}

TEST(LossSpec, WrongTextsAreNamed) {
  const auto expect = [](const std::string& text, const std::string& message) {
    const Status status = ParseLoss(text).status();
    EXPECT_FALSE(status.ok()) << text;
    EXPECT_THAT(status.message(), HasSubstr(message)) << text;
  };
  expect("", "expected one of RMSE, Logloss, CrossEntropy, MAE, ");
  expect("rmse", "found 'rmse'");
  expect("MAE:alpha=0.2", "MAE: expected parameter=number of its parameters (none), found 'alpha=");
  expect("MAE:", "MAE: expected parameter=number");
  expect("Quantile:beta=1", "of its parameters (alpha, delta), found 'beta=1'");
  expect("Quantile:alpha", "found 'alpha'");
  expect("Quantile:alpha=", "alpha: expected a number of at least 0 and at most 1, found ''");
  expect("Quantile:alpha=1.1", "found '1.1'");
  expect("Quantile:alpha=-0.1", "found '-0.1'");
  expect("Quantile:alpha=0.1x", "found '0.1x'");
  expect("Quantile:alpha=nan", "found 'nan'");
  expect("Quantile:delta=0.011", "at most 0.01, found '0.011'");
  expect("Quantile:alpha=0.1;alpha=0.2", "alpha is given twice");
  expect("Quantile:alpha=0.1;", "found ''");
  expect("Tweedie:variance_power=1", "expected a number above 1 and below 2, found '1'");
  expect("Tweedie:variance_power=2", "found '2'");
  expect("Tweedie", "Tweedie lacks variance_power: expected Tweedie:variance_power=NUMBER");
  expect("Huber", "Huber lacks delta");
  expect("Huber:delta=-1", "found '-1'");
  expect("Expectile", "Expectile lacks alpha");
}

}  // namespace
}  // namespace strata
