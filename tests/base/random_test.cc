#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace strata {
namespace {

TEST(RandomTest, SequenceIsFrozen) {
  // xoshiro256** after SplitMix64(0), computed apart from its definition with big integers.
  Random random(0);
  EXPECT_EQ(random.Next(), 0x99ec5f36cb75f2b4ULL);
  EXPECT_EQ(random.Next(), 0xbf6e1f784956452aULL);
  EXPECT_EQ(random.Next(), 0x1a5f849d4933e6e0ULL);
}

TEST(RandomTest, BelowCoversItsRangeEvenly) {
  Random random(7);
  std::array<int, 10> counts{};
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) ++counts.at(random.Below(counts.size()));
  double chi2 = 0;
  for (int count : counts)
    chi2 += (count - kDraws / 10.0) * (count - kDraws / 10.0) / (kDraws / 10.0);
  EXPECT_LT(chi2, 35);  // 9 degrees of freedom: p < 1e-4 beyond
  EXPECT_EQ(random.Below(0), 0u);
  EXPECT_EQ(random.Below(1), 0u);
  constexpr uint64_t kLarge = (1ULL << 63) + 1;  // rejects almost every second draw
  for (int i = 0; i < 1000; ++i) EXPECT_LT(random.Below(kLarge), kLarge);
}

TEST(RandomTest, UniformStaysBelowOne) {
  Random random(8);
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const double u = random.Uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.005);
}

TEST(RandomTest, SystemRandomDoesNotRepeat) {
  std::set<uint64_t> seen;
  for (int i = 0; i < 100; ++i) seen.insert(SystemRandom64());
  EXPECT_EQ(seen.size(), 100u);
}

}  // namespace
}  // namespace strata
