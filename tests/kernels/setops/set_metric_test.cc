#include "kernels/setops/set_metric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

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

INSTANTIATE_TEST_SUITE_P(All, SetMetrics, testing::Range(0, kSetMetrics),
                         [](const testing::TestParamInfo<int>& of) {
                           return std::string(NameOf(static_cast<SetMetric>(of.param)));
                         });

TEST(SetMetricName, OfNoneIsNone) { EXPECT_EQ(SetMetricNamed("euclid"), std::nullopt); }

}  // namespace
}  // namespace strata
