// The derivatives of losses, held against differences of their values.
#include "worker/gbdt/catboost/train/fit_losses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace strata {
namespace {

LossSpec Loss(const std::string& text) {
  Result<LossSpec> loss = ParseLoss(text);
  EXPECT_TRUE(loss.ok()) << loss.status().ToString();
  return *loss;
}

// The derivatives have another factor than the value where CatBoost's have.
double FactorOf(const LossSpec& loss) {
  return loss.type == FitLoss::kRmse || loss.type == FitLoss::kMae ? 0.5 : 1;
}

TEST(FitLosses, DerivativesAreThoseOfTheValue) {
  constexpr double kStep = 1e-4;
  for (const char* const text :
       {"RMSE", "Logloss", "CrossEntropy", "MAE", "Quantile:alpha=0.3", "Quantile:delta=0.01",
        "MAPE", "Poisson", "Tweedie:variance_power=1.3", "Huber:delta=0.7",
        "Expectile:alpha=0.2"}) {
    const LossSpec loss = Loss(text);
    WithFitLoss(loss, [&](auto of) {
      for (const double raw : {-3.0, -0.71, 0.013, 0.4, 2.51}) {
        for (const double label : {0.0, 0.3, 1.0}) {
          const auto value = [&](double at) { return of.Value(at, label); };
          const double first = -(value(raw + kStep) - value(raw - kStep)) / (2 * kStep);
          const double second =
              -(value(raw + kStep) - 2 * value(raw) + value(raw - kStep)) / (kStep * kStep);
          // Parameters are floats in places.
          EXPECT_NEAR(of.Derive(raw, label).first, FactorOf(loss) * first, 1e-6)
              << text << " " << raw << " " << label;
          if (IsQuantileLike(loss.type)) {
            EXPECT_EQ(of.Derive(raw, label).second, 0);
          } else {
            EXPECT_NEAR(of.Derive(raw, label).second, FactorOf(loss) * second, 1e-5)
                << text << " " << raw << " " << label;
          }
        }
      }
    });
  }
}

// The system's functions of wider numbers.
TEST(FitLosses, AreAsTheSystemsFunctionsHaveThem) {
  for (const double at : {-30.0, -2.5, -0.0, 1e-3, 0.7, 12.0}) {
    const long double raw = at;
    const double label = 0.25;
    const long double p = 1 / (1 + std::exp(-raw));
    const auto expect = [at](double actual, long double expected) {
      EXPECT_NEAR(actual, static_cast<double>(expected),
                  4e-15 * (1 + std::abs(static_cast<double>(expected))))
          << at;
    };
    expect(EntropyLoss().Value(at, label), std::log1p(std::exp(raw)) - 0.25L * raw);
    expect(EntropyLoss().Derive(at, label).first, 0.25L - p);
    expect(EntropyLoss().Derive(at, label).second, -p * (1 - p));
    expect(PoissonLoss().Value(at, label), std::exp(raw) - 0.25L * raw);
    expect(PoissonLoss().Derive(at, label).second, -std::exp(raw));
    const TweedieLoss tweedie = {.power = 1.25};
    const long double of_label = 0.25L * std::exp(-0.25L * raw);
    const long double of_raw = std::exp(0.75L * raw);
    expect(tweedie.Value(at, label), of_raw / 0.75L + of_label / 0.25L);
    expect(tweedie.Derive(at, label).first, of_label - of_raw);
    expect(tweedie.Derive(at, label).second, -0.25L * of_label - 0.75L * of_raw);
  }
}

TEST(FitLosses, LargeValuesDoNotOverflow) {
  EXPECT_DOUBLE_EQ(EntropyLoss().Value(800, 0), 800);
  EXPECT_DOUBLE_EQ(EntropyLoss().Value(-800, 1), 800);
}

TEST(FitLosses, ErrorsBelowDeltaAreNone) {
  const QuantileLoss loss = {.alpha = 0.25, .delta = 0.5};
  EXPECT_EQ(loss.Value(1, 1.25), 0);
  EXPECT_EQ(loss.Derive(1, 1.25).first, 0);
  EXPECT_EQ(loss.Derive(1, 0.75).first, 0);
  EXPECT_DOUBLE_EQ(loss.Value(1, 3), 0.25 * 1.5);
  EXPECT_DOUBLE_EQ(loss.Value(3, 1), 0.75 * 1.5);
  EXPECT_DOUBLE_EQ(loss.Derive(3, 1).first, -0.75);
}

}  // namespace
}  // namespace strata
