// Where detectors end a training, held against CatBoost's own trainings and a plain reading of the
// formulas.
#include "worker/gbdt/catboost/train/overfitting_detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "tests/support/golden.h"

namespace strata {
namespace {

using testing::HasSubstr;

// What CatBoost makes of its options.
DetectorParameters ParametersOf(const nlohmann::json& options) {
  DetectorParameters p;
  if (options.contains("od_wait")) p.wait = options["od_wait"];
  if (options.contains("early_stopping_rounds")) p.wait = options["early_stopping_rounds"];
  if (options.contains("od_pval")) {
    p.p_value = options["od_pval"];
    p.type = options.value("od_type", "") == "Wilcoxon" ? DetectorType::kWilcoxon
                                                        : DetectorType::kIncToDec;
  }
  return p;
}

TEST(OverfittingDetector, EndsWhereCatBoostEnds) {
  size_t ended = 0;
  for (const auto& golden : nlohmann::json::parse(Golden("catboost/training/detectors.json"))) {
    OverfittingDetector detector(ParametersOf(golden["options"]));
    const auto losses = golden["losses"].get<std::vector<double>>();
    const bool ends = losses.size() < golden["iterations"].get<size_t>();
    for (size_t round = 0; round < losses.size(); ++round) {
      ASSERT_EQ(detector.Add(losses[round]), ends && round + 1 == losses.size())
          << golden["options"] << " round " << round + 1 << " of " << losses.size();
    }
    ended += ends ? 1 : 0;
  }
  EXPECT_EQ(ended, 8U);
}

// Losses fall, and rise from round 800 on. The oldest ones are forgotten.
TEST(OverfittingDetector, ExpectsWhatTheLastRoundsLetExpect) {
  std::mt19937_64 random(5);
  const auto uniform = [&random] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<double> losses;
  OverfittingDetector detector({.type = DetectorType::kIncToDec, .wait = 3, .p_value = 0.2});
  double expected_fall = 0;
  size_t best = 0;
  size_t ends = 0;
  for (size_t round = 0; round < 2500; ++round) {
    losses.push_back(std::abs(static_cast<double>(round) / 800 - 1) + 0.1 * uniform());
    const double loss = losses.back();
    if (loss < losses[best]) best = round;
    expected_fall *= 0.99;
    for (size_t age = 0; age <= std::min<size_t>(round, 1999); ++age) {
      expected_fall = std::max(
          expected_fall, std::pow(0.99, static_cast<double>(age)) * (losses[round - age] - loss));
    }
    const double ratio = expected_fall / std::max(loss - losses[best], 1e-10);
    const bool ended = round - best >= 3 && std::exp(-0.5 / std::max(ratio, 1e-10)) < 0.2;
    ASSERT_EQ(detector.Add(loss), ended) << round;
    ends += ended ? 1 : 0;
  }
  EXPECT_GT(ends, 10U);
  EXPECT_LT(ends, 1690U);
}

// Changes of 1 to n upwards have all of the ranks: the most unlikely ones.
TEST(OverfittingDetector, WilcoxonTellsARiseFromNoise) {
  OverfittingDetector rises({.type = DetectorType::kWilcoxon, .wait = 2, .p_value = 0.03});
  EXPECT_FALSE(rises.Add(1));
  double loss = 1;
  size_t rounds = 0;
  for (bool ended = false; !ended; ++rounds) {
    loss += 0.1 * static_cast<double>(rounds + 1);
    ended = rises.Add(loss);
  }
  // With n changes the sum of ranks is sqrt(6n(n + 1) / (4(2n + 1))) deviations above its mean,
  // and the probability of that is below 0.03 from 2.17 on.
  EXPECT_EQ(rounds, 6U);
  EXPECT_THAT(rises.Reason(), HasSubstr("in 6 rounds, p-value 0.028 (od_type = Wilcoxon)"));
  OverfittingDetector turns({.type = DetectorType::kWilcoxon, .wait = 2, .p_value = 0.03});
  EXPECT_FALSE(turns.Add(1));
  for (size_t round = 0; round < 50; ++round) EXPECT_FALSE(turns.Add(round % 2 == 0 ? 3 : 2));
}

TEST(OverfittingDetector, LossesThatStayTheSameDoNotImprove) {
  OverfittingDetector detector({.type = DetectorType::kIter, .wait = 2});
  EXPECT_FALSE(detector.Add(1));
  EXPECT_FALSE(detector.Add(1));
  EXPECT_TRUE(detector.Add(1));
  EXPECT_EQ(detector.Reason(), "no improvement on test rows in 2 rounds (od_type = Iter)");
}

}  // namespace
}  // namespace strata
