#include "ps/shard/dedup_window.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace strata {
namespace {

using State = DedupWindow::State;
constexpr ClientId kClient{1, 2};

State StateOf(DedupWindow& window, uint64_t sequence, uint64_t settled = 0, TimeNs now = 0) {
  const Result<DedupWindow::Known> known = window.Look(kClient, sequence, settled, now);
  EXPECT_TRUE(known.ok()) << known.status().ToString();
  return known.ok() ? known->state : State::kNew;
}

TEST(DedupWindow, AWriteIsNewOnceAndItsAnswerIsKept) {
  DedupWindow window;
  EXPECT_EQ(StateOf(window, 5), State::kNew);
  EXPECT_EQ(StateOf(window, 5), State::kNew);  // looking decides nothing
  window.Decide(kClient, 5, NotFound("no table"));
  const Result<DedupWindow::Known> known = window.Look(kClient, 5, 0, 0);
  EXPECT_EQ(known->state, State::kDecided);
  EXPECT_EQ(known->answer.ToString(), "NOT_FOUND: no table");
  EXPECT_EQ(StateOf(window, 4), State::kNew);
  EXPECT_EQ(window.Look({9, 9}, 5, 0, 0)->state, State::kNew);  // another client's 5
}

TEST(DedupWindow, AParkedWriteIsPendingUntilDecidedOrWithdrawn) {
  DedupWindow window;
  ASSERT_EQ(StateOf(window, 1), State::kNew);
  window.Park(kClient, 1);
  EXPECT_EQ(StateOf(window, 1), State::kPending);
  window.Withdraw(kClient, 1);
  EXPECT_EQ(StateOf(window, 1), State::kNew);
  window.Park(kClient, 1);
  ASSERT_EQ(StateOf(window, 3, 3), State::kNew);
  EXPECT_EQ(StateOf(window, 1), State::kPending);  // settled while it waits: still known
  window.Decide(kClient, 1, {});
  EXPECT_EQ(window.Look(kClient, 1, 3, 0).status().code(), StatusCode::kInvalid);
}

TEST(DedupWindow, WhatIsSettledIsForgottenAndRefused) {
  DedupWindow window;
  for (uint64_t s = 1; s <= 10; ++s) {
    ASSERT_EQ(StateOf(window, s), State::kNew);
    window.Decide(kClient, s, {});
  }
  EXPECT_EQ(StateOf(window, 8, 6), State::kDecided);
  const Result<DedupWindow::Known> late = window.Look(kClient, 5, 2, 0);  // the mark never sinks
  EXPECT_EQ(late.status().code(), StatusCode::kInvalid);
  EXPECT_NE(late.status().message().find("not applied again"), std::string::npos);
  EXPECT_EQ(window.Look(kClient, 0, 0, 0).status().code(), StatusCode::kInvalid);
}

// It would be late by what it says itself, and so would all that the client sends later.
TEST(DedupWindow, AMarkAboveTheWriteItselfIsRefusedAndMovesNothing) {
  DedupWindow window;
  EXPECT_EQ(window.Look(kClient, 5, 6, 0).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(window.Look(kClient, 5, UINT64_MAX, 0).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(StateOf(window, 1), State::kNew);
}

TEST(DedupWindow, TooManyUnsettledWritesAreRefusedNotForgotten) {
  DedupWindow window({.sequences_max = 3});
  for (uint64_t s = 1; s <= 3; ++s) {
    ASSERT_EQ(StateOf(window, s), State::kNew);
    window.Decide(kClient, s, {});
  }
  EXPECT_EQ(window.Look(kClient, 4, 0, 0).status().code(), StatusCode::kRefused);
  EXPECT_EQ(StateOf(window, 1), State::kDecided);
  EXPECT_EQ(StateOf(window, 4, 2), State::kNew);  // room once the first is settled
}

TEST(DedupWindow, OnlyIdleClientsExpireAndTheyAreTold) {
  DedupWindow window({.clients_max = 2, .idle_min = 100, .expired_max = 1});
  const ClientId a{1, 0}, b{2, 0}, c{3, 0}, d{4, 0};
  ASSERT_TRUE(window.Look(a, 1, 0, 0).ok());
  EXPECT_EQ(window.InTheWay(b, 50), std::nullopt);  // there is room
  ASSERT_TRUE(window.Look(b, 1, 0, 50).ok());
  EXPECT_EQ(window.InTheWay(c, 99), std::nullopt);  // a is too young
  EXPECT_EQ(window.Look(c, 1, 0, 99).status().code(), StatusCode::kRefused);
  EXPECT_EQ(window.InTheWay(b, 100), std::nullopt);  // has its place
  EXPECT_EQ(window.InTheWay(c, 100), a);
  window.Expire(a);
  ASSERT_TRUE(window.Look(c, 1, 0, 100).ok());
  EXPECT_EQ(window.clients(), 2U);
  const Result<DedupWindow::Known> back = window.Look(a, 2, 0, 101);
  EXPECT_EQ(back.status().code(), StatusCode::kSessionExpired);
  EXPECT_NE(back.status().message().find(ToString(a)), std::string::npos);
  // An expired client makes nobody else give way, and no more names of expired ones can be kept.
  EXPECT_EQ(window.InTheWay(a, 100'000), std::nullopt);
  EXPECT_EQ(window.InTheWay(d, 100'000), std::nullopt);
  EXPECT_EQ(window.Look(d, 1, 0, 100'000).status().code(), StatusCode::kRefused);
}

TEST(DedupWindow, AClientWithAWaitingWriteNeverExpires) {
  DedupWindow window({.clients_max = 1, .idle_min = 100});
  ASSERT_TRUE(window.Look(kClient, 1, 0, 0).ok());
  window.Park(kClient, 1);
  EXPECT_EQ(window.InTheWay({7, 7}, 1'000'000), std::nullopt);
  window.Decide(kClient, 1, {});
  EXPECT_EQ(window.InTheWay({7, 7}, 1'000'000), kClient);
}

TEST(DedupWindow, AClientLeavesOnceAndOnlyWithNothingWaiting) {
  DedupWindow window({.expired_max = 1});
  EXPECT_FALSE(window.MayLeave(kClient));  // is not known
  ASSERT_TRUE(window.Look(kClient, 1, 0, 0).ok());
  window.Park(kClient, 1);
  EXPECT_FALSE(window.MayLeave(kClient));
  window.Decide(kClient, 1, {});
  EXPECT_TRUE(window.MayLeave(kClient));
  window.Expire(kClient);
  EXPECT_FALSE(window.MayLeave(kClient));
  EXPECT_EQ(window.Look(kClient, 1, 0, 0).status().code(), StatusCode::kSessionExpired);
  ASSERT_TRUE(window.Look({7, 7}, 1, 0, 0).ok());
  EXPECT_FALSE(window.MayLeave({7, 7}));  // no room for its name
}

TEST(DedupWindow, WhatALogSaysIsKnownWithItsRecord) {
  DedupWindow window({.clients_max = 1, .sequences_max = 1});
  window.Restore({1, 1}, 4, 2, NotFound("no table"), 10, 0);
  window.Restore({1, 1}, 5, 2, {}, 11, 0);  // beyond the limits, which the log has held
  window.Restore({2, 2}, 1, 1, {}, 12, 0);
  EXPECT_EQ(window.Look({1, 1}, 4, 0, 0)->answer.ToString(), "NOT_FOUND: no table");
  EXPECT_EQ(window.Look({1, 1}, 4, 0, 0)->lsn, 10U);
  EXPECT_EQ(window.Look({1, 1}, 5, 0, 0)->lsn, 11U);
  EXPECT_EQ(window.Look({1, 1}, 1, 0, 0).status().code(), StatusCode::kInvalid);  // settled
  EXPECT_EQ(window.Look({2, 2}, 1, 0, 0)->state, State::kDecided);
  window.Restore({1, 1}, 3, 6, {}, 13, 0);  // settled meanwhile, by a write logged before it
  EXPECT_EQ(window.Look({1, 1}, 5, 0, 0).status().code(), StatusCode::kInvalid);
}

// Against a model that remembers everything: no write is ever new after it was decided.
TEST(DedupWindow, RandomHistoriesDecideEachWriteAtMostOnce) {
  std::mt19937_64 random(20);
  for (int round = 0; round < 200; ++round) {
    DedupWindow window({.clients_max = 4, .sequences_max = 8, .idle_min = 1'000'000});
    std::map<uint64_t, std::set<uint64_t>> decided;
    std::map<uint64_t, uint64_t> settled;
    for (int step = 0; step < 500; ++step) {
      const uint64_t client = random() % 4;
      const uint64_t sequence = 1 + random() % 40;
      if (random() % 4 == 0) settled[client] = std::max(settled[client], random() % 40);
      const Result<DedupWindow::Known> known =
          window.Look({client, 0}, sequence, settled[client], step);
      const bool was_decided = decided[client].contains(sequence);
      if (!known.ok()) {
        EXPECT_TRUE(sequence < settled[client] || known.status().code() == StatusCode::kRefused);
        continue;
      }
      EXPECT_EQ(known->state == State::kDecided, was_decided);
      if (known->state == State::kNew && random() % 3 != 0) {
        window.Decide({client, 0}, sequence, {});
        decided[client].insert(sequence);
      }
    }
  }
}

}  // namespace
}  // namespace strata
