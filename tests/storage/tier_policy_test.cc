// The policies by themselves, each beside a plain model.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "storage/tiered/policy.h"
#include "storage/tiered/push_counts.h"

namespace strata {
namespace {

std::vector<RowFacts> DrawRows(size_t count) {
  std::mt19937_64 random(5);
  std::vector<RowFacts> rows;
  for (size_t i = 0; i < count; ++i) {
    const auto frequency = static_cast<uint32_t>(i % 3 == 0 ? random() : random() % 4);
    const auto age = static_cast<uint32_t>(i % 5 == 0 ? random() : random() % 4);
    rows.push_back({random(), frequency, age});
  }
  return rows;
}

template <typename GoesFirst>
void ExpectOrder(const TierPolicy& policy, GoesFirst goes_first) {
  const std::vector<RowFacts> rows = DrawRows(300);
  for (const RowFacts& a : rows) {
    for (const RowFacts& b : rows) {
      ASSERT_EQ(KeepScore(policy, a) < KeepScore(policy, b), goes_first(a, b))
          << a.frequency << " " << a.age << " beside " << b.frequency << " " << b.age;
    }
  }
}

TEST(TierPolicyTest, LruKeepsTheYoung) {
  ExpectOrder({.keep = KeepPolicy::kLru},
              [](const RowFacts& a, const RowFacts& b) { return a.age > b.age; });
}

TEST(TierPolicyTest, LfuKeepsTheFrequentAndOfThoseTheYoung) {
  ExpectOrder({.keep = KeepPolicy::kLfu}, [](const RowFacts& a, const RowFacts& b) {
    return a.frequency != b.frequency ? a.frequency < b.frequency : a.age > b.age;
  });
}

TEST(TierPolicyTest, OnlyWhatIsWorthAsMuchAsWhatLeftMovesUp) {
  const TierPolicy lfu{.keep = KeepPolicy::kLfu};
  const double gone = KeepScore(lfu, {1, 5, 100});
  EXPECT_TRUE(MovesUp(lfu, 2, 5, gone)) << "as frequent, and asked for just now";
  EXPECT_TRUE(MovesUp(lfu, 2, 6, gone));
  EXPECT_FALSE(MovesUp(lfu, 2, 4, gone));
  EXPECT_TRUE(MovesUp({.keep = KeepPolicy::kLru}, 2, 0, 0.0)) << "nothing is younger";
}

TEST(TierPolicyTest, RowsExpireAfterTheirSteps) {
  const TierPolicy never{}, ten{.ttl_steps = 10};
  for (uint64_t now = 0; now < 100; ++now) {
    for (uint64_t last = 0; last < 100; ++last) {
      EXPECT_FALSE(IsExpired(never, last, now));
      EXPECT_EQ(IsExpired(ten, last, now), last != 0 && now > last + 10) << last << " " << now;
    }
  }
  EXPECT_FALSE(IsExpired(ten, UINT64_MAX, 5));
  EXPECT_TRUE(IsExpired(ten, 1, UINT64_MAX));
}

TEST(TierPolicyTest, AStepGoesWithTheOthersUnlessItsRowsOrAllOthersWouldExpire) {
  const TierPolicy never{}, ten{.ttl_steps = 10};
  for (const uint64_t step : {uint64_t{1}, uint64_t{100}, UINT64_MAX}) {
    EXPECT_TRUE(CheckStep(never, "t", step, 50, 0).ok());
    EXPECT_TRUE(CheckStep(ten, "t", step, 0, 0).ok()) << "the first";
  }
  for (uint64_t step = 1; step < 100; ++step) {
    EXPECT_EQ(CheckStep(ten, "t", step, 50, 0).ok(), step >= 40 && step <= 60) << step;
    EXPECT_EQ(CheckStep(ten, "t", step, 50, 7).ok(), step >= 40 && step <= 67) << step;
  }
  const Status absurd = CheckStep(ten, "clicks", UINT64_MAX, 50, 1000);
  EXPECT_EQ(absurd.code(), StatusCode::kInvalid);
  for (const char* part : {"'clicks'", "18446744073709551615", "step is 50", "10 steps"}) {
    EXPECT_NE(absurd.message().find(part), std::string::npos) << absurd.ToString();
  }
}

TEST(TierPolicyTest, AdmissionCountsFromOne) {
  for (uint32_t from : {0U, 1U, 2U, 5U}) {
    for (uint64_t pushes = 1; pushes < 9; ++pushes) {
      EXPECT_EQ(IsAdmitted({.admit_from = from}, pushes), pushes >= from);
    }
  }
}

TEST(PushCountsTest, NeverTooLowAndSeldomTooHigh) {
  for (const double load : {0.25, 0.5, 1.0}) {
    PushCounts counts(1 << 16);
    std::mt19937_64 random(7);
    std::map<Key, uint32_t> truth;
    const auto keys = static_cast<size_t>(load * static_cast<double>(counts.width()));
    while (truth.size() < keys) truth[random()] = 0;
    for (auto& [key, count] : truth) {
      count = 1 + static_cast<uint32_t>(random() % 4);
      for (uint32_t i = 0; i < count; ++i) counts.Add(key, 1);
    }
    size_t too_high = 0;
    for (const auto& [key, count] : truth) {
      ASSERT_GE(counts.Count(key), count);
      too_high += counts.Count(key) > count ? 1 : 0;
    }
    const double bound = std::pow(1 - std::exp(-load), 4);
    EXPECT_LE(static_cast<double>(too_high), 1.1 * bound * static_cast<double>(keys)) << load;
  }
}

TEST(PushCountsTest, StopsAtItsHighestCountAndKeepsToItsBytes) {
  PushCounts counts(1000);
  EXPECT_LE(counts.bytes(), 1000U);
  EXPECT_EQ(counts.Count(3), 0U);
  counts.Add(3, UINT32_MAX);
  counts.Add(3, 1);
  EXPECT_EQ(counts.Count(3), PushCounts::kCountMax);
}

}  // namespace
}  // namespace strata
