// How memory is shared out, beside an oracle that fills water in byte by byte.
#include "storage/memory/pool_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace strata {
namespace {

// Each in turn gets a byte, unless it has what it wants; what is left of a round nobody gets.
uint64_t FilledByDrops(uint64_t bytes, const std::vector<uint64_t>& others) {
  for (uint64_t level = 0;; ++level) {
    uint64_t drops = 1;
    for (const uint64_t wanted : others) drops += wanted > level ? 1 : 0;
    if (drops > bytes) return level;
    bytes -= drops;
  }
}

TEST(PoolShares, AreThoseThatWaterFills) {
  std::mt19937_64 random(7);
  for (int turn = 0; turn < 3000; ++turn) {
    std::vector<uint64_t> others(random() % 12);
    for (uint64_t& wanted : others) wanted = random() % (1 + random() % 400);
    const uint64_t bytes = random() % 2000;
    const uint64_t share = FairShare(bytes, others);
    ASSERT_EQ(share, FilledByDrops(bytes, others)) << turn;
    ASSERT_GE(share, bytes / (others.size() + 1));
  }
}

TEST(PoolShares, WhatATableDoesNotNeedIsLeftToOthers) {
  PoolShares shares;
  PoolShare large(shares, 0);
  EXPECT_EQ(large.Of(900), 900U);
  {
    PoolShare first(shares, 10);
    PoolShare second(shares, 20);
    EXPECT_EQ(large.Of(900), 870U);
    large.Need(2000);
    EXPECT_EQ(first.Of(900), 440U);
    EXPECT_EQ(first.EqualPartOf(900), 300U);
    first.Need(200);
    first.Need(100);  // it has needed more
    EXPECT_EQ(large.Of(900), 680U);
    first.Need(1000);
    second.Need(1000);
    EXPECT_EQ(large.Of(900), 300U);
    EXPECT_EQ(second.Of(900), 300U);
    EXPECT_EQ(second.Of(600), 200U);
  }
  EXPECT_EQ(large.Of(900), 900U);
}

TEST(PoolShares, EachHearsOnceThatOneLacks) {
  PoolShares shares;
  PoolShare first(shares, 1);
  PoolShare second(shares, 1);
  EXPECT_FALSE(second.IsLacked());
  first.Lack();
  EXPECT_TRUE(second.IsLacked());
  second.AnswerLack();
  EXPECT_FALSE(second.IsLacked());
  PoolShare third(shares, 1);
  EXPECT_FALSE(third.IsLacked());
}

}  // namespace
}  // namespace strata
