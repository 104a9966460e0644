// Which splits are taken, and how often, held against the probabilities of the formulas.
#include "worker/gbdt/catboost/train/split_choice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "tests/worker/gbdt/catboost/train/best_split.h"

namespace strata {
namespace {

constexpr size_t kLevels = 20000;  // that a test draws
// Four standard deviations of a share of so many.
const double kShareError = 4 * 0.5 / std::sqrt(static_cast<double>(kLevels));

std::unique_ptr<WorkPool> ChoicePool(int threads) {
  return std::move(*WorkPool::Start("test", threads));
}

// The plain rule for each column.
std::vector<ColumnRule> PlainRules(const LevelScores& scores) {
  return std::vector<ColumnRule>(scores.size());
}

// The share of levels, of several trees, that take this split. Without rules they are plain.
double ShareOf(const LevelScores& scores, const GrowSplit& split, TreeLevel level,
               std::vector<ColumnRule> rules = {}, double rsm = 1) {
  if (rules.empty()) rules = PlainRules(scores);
  const std::unique_ptr<WorkPool> pool = ChoicePool(0);
  const SplitChoice choice(7, rsm, *pool);
  double taken = 0;
  for (uint64_t i = 0; i < kLevels; ++i) {
    level.tree = i / 5;
    level.level = i % 5;
    const auto found = choice.Choose(level, scores, rules);
    if (!found || found->split.column != split.column || found->split.place != split.place) {
      continue;
    }
    const ColumnRule& rule = rules[split.column];
    EXPECT_EQ(found->score, (scores[split.column][split.place] - rule.penalty) * rule.factor);
    taken += 1;
  }
  return taken / static_cast<double>(kLevels);
}

// That a normal number is below x.
double Normal(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

TEST(SplitChoice, ScoresThatAreNoNumbersAreNotTaken) {
  const std::unique_ptr<WorkPool> pool = ChoicePool(0);
  const SplitChoice choice(3, 1, *pool);
  const double none = std::nan("");
  const LevelScores scores = {{none, 1}, {0, 2, none, 2}, {2}};
  const auto found = choice.Choose({}, scores, PlainRules(scores));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->split.column, 1U);
  EXPECT_EQ(found->split.place, 1U);
  EXPECT_FALSE(choice.Choose({}, {{}, {none}}, PlainRules({{}, {none}})).has_value());
}

TEST(SplitChoice, WithoutNoiseTakesTheFirstLargestScore) {
  const std::unique_ptr<WorkPool> pool = ChoicePool(1);
  const SplitChoice choice(3, 1, *pool);
  std::mt19937_64 random(4);
  for (int i = 0; i < 200; ++i) {
    LevelScores scores(1 + random() % 5);
    for (auto& column : scores) {
      for (size_t n = random() % 6; n > 0; --n) {
        column.push_back(static_cast<double>(random() % 7));
      }
    }
    const auto expected = BestSplit(scores);
    const auto found = choice.Choose({}, scores, PlainRules(scores));
    ASSERT_EQ(found.has_value(), expected.has_value());
    if (!found) continue;
    EXPECT_EQ(found->split.column, expected->column);
    EXPECT_EQ(found->split.place, expected->place);
  }
  const LevelScores none = {{std::nan("")}, {}};
  EXPECT_FALSE(choice.Choose({}, none, PlainRules(none)).has_value());
}

// The difference of two normal numbers decides.
TEST(SplitChoice, NoiseTakesTheSmallerScoreAtTimes) {
  for (const double apart : {0.0, 0.5, 2.0}) {
    const double expected = Normal(apart / (0.8 * std::sqrt(2.0)));
    EXPECT_NEAR(ShareOf({{5}, {5 + apart}}, {1, 0}, {.deviation = 0.8}), expected, kShareError)
        << "columns";
    EXPECT_NEAR(ShareOf({{5, 5 + apart}}, {0, 1}, {.deviation = 0.8}), expected, kShareError)
        << "splits";
    EXPECT_NEAR(ShareOf({{5, 4, 5 + apart, -9}}, {0, 1}, {.deviation = 1e-9}), 0, 0)
        << "hardly any noise";
  }
}

// The noise by which a column has found its split does not speak for the column.
TEST(SplitChoice, ColumnsOfManySplitsAreNotPreferred) {
  const LevelScores scores = {std::vector<double>(255, 1.0), {1}};
  EXPECT_NEAR(ShareOf(scores, {1, 0}, {.deviation = 0.5}), 0.5, kShareError);
}

TEST(SplitChoice, WeightsMultiplyWhatIsGainedBeyondThePenalty) {
  const LevelScores scores = {{2, 4}, {5}};
  EXPECT_EQ(ShareOf(scores, {1, 0}, {}), 1);
  EXPECT_EQ(ShareOf(scores, {0, 1}, {}, {{.weight = 1.5}, {}}), 1);
  EXPECT_EQ(ShareOf(scores, {1, 0}, {.score_before = 3}, {{.weight = 1.5}, {}}), 1);
  EXPECT_EQ(ShareOf(scores, {0, 1}, {}, {{}, {.weight = 1, .penalty = 1.5}}), 1);
  EXPECT_EQ(ShareOf(scores, {1, 0}, {}, {{}, {.weight = 2, .penalty = 1.5}}), 1);
  EXPECT_EQ(ShareOf(scores, {0, 1}, {}, {{}, {.factor = 0.75}}), 1);
  EXPECT_EQ(ShareOf(scores, {0, 1}, {}, {{.penalty = 2}, {.penalty = 2, .factor = 0.5}}), 1);
  EXPECT_EQ(ShareOf(scores, {0, 1}, {}, {{}, {.is_tried = false}}), 1);
  // Noise is a part of the gain: 2 * (1 + n) against 2 + m.
  const TreeLevel level = {.deviation = 0.7, .score_before = 3};
  EXPECT_NEAR(ShareOf({{4}, {5}}, {1, 0}, level, {{.weight = 2}, {}}), 0.5, kShareError);
  EXPECT_NEAR(ShareOf({{4}, {5}}, {0, 0}, level, {{.weight = 2, .penalty = 0.5}, {}}),
              Normal(-1 / (0.7 * std::sqrt(5.0))), kShareError);
}

TEST(SplitChoice, LooksAtAShareOfTheColumns) {
  const LevelScores scores = {{1}, {9}, {3}};
  EXPECT_NEAR(ShareOf(scores, {1, 0}, {}, {}, 0.3), 0.3, kShareError);
  EXPECT_NEAR(ShareOf(scores, {2, 0}, {}, {}, 0.3), 0.7 * 0.3, kShareError);
  EXPECT_NEAR(ShareOf(scores, {0, 0}, {}, {}, 0.3), 0.7 * 0.7 * 0.3, kShareError);
  // The first and the second column have one draw.
  ColumnRule with_first;
  with_first.drawn_with = 0;
  const std::vector<ColumnRule> rules = {{}, with_first, {}};
  EXPECT_NEAR(ShareOf(scores, {1, 0}, {}, rules, 0.3), 0.3, kShareError);
  EXPECT_EQ(ShareOf(scores, {0, 0}, {}, rules, 0.3), 0);
}

TEST(SplitChoice, DependsOnSeedTreeAndLevelAlone) {
  const LevelScores scores(20, std::vector<double>(100, 1.0));
  const auto choose = [&scores](uint64_t seed, uint64_t tree, uint64_t level, int threads) {
    const std::unique_ptr<WorkPool> pool = ChoicePool(threads);
    const auto found =
        SplitChoice(seed, 0.7, *pool)
            .Choose({.tree = tree, .level = level, .deviation = 1}, scores, PlainRules(scores));
    return std::pair(found->split.column, found->split.place);
  };
  const auto first = choose(1, 2, 3, 0);
  EXPECT_EQ(choose(1, 2, 3, 4), first);
  EXPECT_NE(choose(0, 2, 3, 0), first);
  EXPECT_NE(choose(1, 1, 3, 0), first);
  EXPECT_NE(choose(1, 2, 2, 0), first);
}

TEST(NoiseDeviation, FollowsGradientsAndTheModelsLength) {
  const double squares = 12345.5;
  for (const double length : {0.0, 3.0, 11.5}) {
    const double left = std::exp(std::log(20000.0) - length);
    EXPECT_NEAR(NoiseDeviation(2, squares, 20000, length),
                2 * std::sqrt(squares / 20000) * left / (1 + left), 1e-12);
  }
}

}  // namespace
}  // namespace strata
