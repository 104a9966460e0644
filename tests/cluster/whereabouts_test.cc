#include "cluster/link/exchange/whereabouts.h"

#include <gtest/gtest.h>

#include <thread>

namespace strata {
namespace {

ExchangeTag Tag(uint64_t call, uint32_t step, uint32_t group = 0) {
  return {.operation = Collective::kAllreduce,
          .algorithm = Algorithm::kRing,
          .group = group,
          .call = call,
          .step = step};
}

TEST(Whereabouts, OnlyAnExchangeThatLastsFromLookToLookIsLong) {
  Whereabouts whereabouts;
  EXPECT_FALSE(whereabouts.LongStay().has_value());
  whereabouts.Enter({.tag = Tag(5, 1), .to = 3, .from = 4});
  EXPECT_FALSE(whereabouts.LongStay().has_value());
  const auto stay = whereabouts.LongStay();
  ASSERT_TRUE(stay.has_value());
  EXPECT_EQ(stay->tag.OperationWord(), Tag(5, 1).OperationWord());
  EXPECT_EQ(stay->tag.SequenceWord(), Tag(5, 1).SequenceWord());
  EXPECT_EQ(stay->to, 3);
  EXPECT_EQ(stay->from, 4);
  whereabouts.Leave();
  EXPECT_FALSE(whereabouts.LongStay().has_value());
  EXPECT_FALSE(whereabouts.LongStay().has_value());
  whereabouts.Enter({.tag = Tag(5, 2), .to = 3, .from = 4});
  EXPECT_FALSE(whereabouts.LongStay().has_value());
  whereabouts.Leave();
  whereabouts.Enter({.tag = Tag(5, 3), .to = 3, .from = 4});
  EXPECT_FALSE(whereabouts.LongStay().has_value());
}

TEST(Whereabouts, TheExchangeUnderWay) {
  Whereabouts whereabouts;
  EXPECT_FALSE(whereabouts.Now().has_value());
  whereabouts.Enter({.tag = Tag(5, 1), .to = 3, .from = 4});
  ASSERT_TRUE(whereabouts.Now().has_value());
  EXPECT_EQ(whereabouts.Now()->from, 4);
  whereabouts.Leave();
  EXPECT_FALSE(whereabouts.Now().has_value());
}

TEST(Whereabouts, TheLastCallsOfEachGroupAreKnown) {
  Whereabouts whereabouts;
  EXPECT_FALSE(whereabouts.OperationOf(0, 0).has_value());
  const auto pass = [&](const ExchangeTag& tag) {
    whereabouts.Enter({.tag = tag, .to = 1, .from = 1});
    whereabouts.Leave();
  };
  pass(Tag(0, 0));
  pass(Tag(0, 0, 7));
  for (uint64_t call = 1; call < Whereabouts::kCallsKept; ++call) {
    for (uint32_t step = 0; step < 3; ++step) pass(Tag(call, step));
  }
  EXPECT_FALSE(whereabouts.OperationOf(0, 0).has_value());  // too long ago
  EXPECT_EQ(whereabouts.OperationOf(7, 0), Tag(0, 0, 7).OperationWord());
  EXPECT_FALSE(whereabouts.OperationOf(7, 1).has_value());
  for (uint64_t call = 1; call < Whereabouts::kCallsKept; ++call) {
    EXPECT_EQ(whereabouts.OperationOf(0, call), Tag(call, 0).OperationWord());
  }
  EXPECT_FALSE(whereabouts.OperationOf(0, Whereabouts::kCallsKept).has_value());
}

// The other thread never sees a mixture of two exchanges.
TEST(Whereabouts, LooksFromAnotherThreadAreWhole) {
  Whereabouts whereabouts;
  std::atomic<bool> over = false;
  std::thread thread([&] {
    for (uint64_t call = 1; !over; ++call) {
      const auto group = static_cast<uint32_t>(call % 1000);
      whereabouts.Enter({.tag = Tag(call, 0, group), .to = static_cast<int>(group), .from = -1});
      whereabouts.Leave();
    }
  });
  for (uint64_t look = 0; look < 200'000; ++look) {
    if (const auto stay = whereabouts.LongStay()) {
      EXPECT_EQ(stay->tag.group, stay->tag.call % 1000);
      EXPECT_EQ(stay->to, static_cast<int>(stay->tag.group));
    }
    const auto group = static_cast<uint32_t>(look % 1000);
    if (const auto operation = whereabouts.OperationOf(group, look)) {
      EXPECT_EQ(*operation, Tag(look, 0, group).OperationWord());
    }
  }
  over = true;
  thread.join();
}

}  // namespace
}  // namespace strata
