#include "kernels/setops/set_metric.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <tuple>

#include "base/random.h"

namespace strata {
namespace {

// Each by its textbook formula, in double.
double Formula(SetMetric metric, double c, double q, double d) {
  if (c == 0) return 0;
  switch (metric) {
    case SetMetric::kOverlap:
      return c;
    case SetMetric::kOverlapMax:
      return c / std::max(q, d);
    case SetMetric::kJaccard:
      return c / (q + d - c);
    case SetMetric::kDice:
      return 2 * c / (q + d);
    case SetMetric::kCosine:
      return c / std::sqrt(q * d);
    case SetMetric::kContainmentQuery:
      return c / q;
    case SetMetric::kContainmentDocument:
      return c / d;
  }
  return -1;
}

class SetMetrics : public testing::TestWithParam<int> {
 protected:
  SetMetric metric() const { return static_cast<SetMetric>(GetParam()); }
};

TEST_P(SetMetrics, AreTheirFormulas) {
  for (uint32_t q = 0; q < 20; ++q) {
    for (uint32_t d = 0; d < 20; ++d) {
      for (uint32_t c = 0; c <= std::min(q, d); ++c) {
        EXPECT_NEAR(ScoreOf(metric(), Similarity(metric(), c, q, d)), Formula(metric(), c, q, d),
                    1e-12);
      }
    }
  }
}

TEST_P(SetMetrics, TheLeastOverlapIsTheFirstThatIsAlikeEnough) {
  for (uint32_t q = 0; q < 14; ++q) {
    for (uint32_t d = 0; d < 14; ++d) {
      for (uint32_t of = 0; of <= std::min(q, d); ++of) {
        const Fraction at_least = Similarity(metric(), of, q, d);
        for (uint32_t other = 1; other < 14; ++other) {
          uint32_t expected = 1;
          while (expected <= std::min(q, other) &&
                 IsLess(Similarity(metric(), expected, q, other), at_least)) {
            ++expected;
          }
          ASSERT_EQ(LeastOverlap(metric(), at_least, q, other), expected)
              << NameOf(metric()) << " " << q << " " << d << " " << of << " " << other;
        }
      }
    }
  }
}

TEST_P(SetMetrics, DoNotOverflowForTheLargestSets) {
  const uint32_t most = UINT32_MAX - 1;
  EXPECT_TRUE(
      IsLess(Similarity(metric(), most - 1, most, most), Similarity(metric(), most, most, most)));
  EXPECT_EQ(LeastOverlap(metric(), Similarity(metric(), most / 2, most, most), most, most),
            most / 2);
}

TEST_P(SetMetrics, HaveNames) { EXPECT_EQ(SetMetricNamed(NameOf(metric())), metric()); }

TEST_P(SetMetrics, AScoreThatAPersonGivesIsThatSimilarity) {
  EXPECT_FALSE(IsLess(SimilarityOf(metric(), 0.5), SimilarityOf(metric(), 0.5)));
  // 1 of 2 and 2: a half in every metric but the overlap and Jaccard's.
  const Fraction half = Similarity(metric(), 1, 2, 2);
  const double score = ScoreOf(metric(), half);
  EXPECT_EQ(IsLess(half, SimilarityOf(metric(), score + 1e-9)), true);
  EXPECT_EQ(IsLess(half, SimilarityOf(metric(), score - 1e-9)), false);
}

// As -o json prints a score, and as a table does: numbers that a reader rounds up or down.
TEST_P(SetMetrics, AScoreThatWasPrintedFindsItsDocument) {
  Random random(5);
  for (int i = 0; i < 200'000; ++i) {
    const uint32_t most = i % 2 == 0 ? 40 : 1U << 20;
    const auto q = static_cast<uint32_t>(1 + random.Below(most));
    const auto d = static_cast<uint32_t>(1 + random.Below(most));
    const auto c = static_cast<uint32_t>(1 + random.Below(std::min(q, d)));
    const Fraction similarity = Similarity(metric(), c, q, d);
    const std::string json = fmt::format("{}", ScoreOf(metric(), similarity));
    for (const std::string& printed : {json, ScoreText(metric(), similarity)}) {
      const double given = std::strtod(printed.c_str(), nullptr);
      ASSERT_GT(given, 0) << printed;
      ASSERT_FALSE(IsLess(similarity, SimilarityOf(metric(), given)))
          << c << " of " << q << " and " << d << " is printed as " << printed;
    }
  }
}

TEST_P(SetMetrics, AScoreThatIsLessIsNotFound) {
  for (uint32_t q = 1; q < 40; ++q) {
    for (uint32_t d = 1; d < 40; ++d) {
      for (uint32_t c = 2; c <= std::min(q, d); ++c) {
        const double score = ScoreOf(metric(), Similarity(metric(), c, q, d));
        ASSERT_TRUE(IsLess(Similarity(metric(), c - 1, q, d), SimilarityOf(metric(), score)));
      }
    }
  }
}

TEST(SetMetricScores, AreRoundedDown) {
  EXPECT_EQ(ScoreText(SetMetric::kOverlapMax, {2, 3}), "0.666666");
  EXPECT_EQ(ScoreText(SetMetric::kOverlapMax, {7, 10}), "0.7");
  EXPECT_EQ(ScoreText(SetMetric::kJaccard, {1, 1}), "1");
  EXPECT_EQ(ScoreText(SetMetric::kJaccard, {0, 1}), "0");
  EXPECT_EQ(ScoreText(SetMetric::kDice, {1, 1'500'000}), "0.000000666666");
  EXPECT_EQ(ScoreText(SetMetric::kCosine, {1, 2}), "0.707106");
  EXPECT_EQ(ScoreText(SetMetric::kCosine, {1, 4}), "0.5");
  EXPECT_EQ(ScoreText(SetMetric::kOverlap, {12, 1}), "12");
}

INSTANTIATE_TEST_SUITE_P(All, SetMetrics, testing::Range(0, kSetMetrics),
                         [](const testing::TestParamInfo<int>& of) {
                           return std::string(NameOf(static_cast<SetMetric>(of.param)));
                         });

TEST(SetMetricName, OfNoneIsNone) { EXPECT_EQ(SetMetricNamed("euclid"), std::nullopt); }

}  // namespace
}  // namespace strata
