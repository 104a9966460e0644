#include "ps/shard/step_barrier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace strata {
namespace {

constexpr uint32_t kTable = 5;

SyncMember Member(uint16_t rank, uint64_t step, uint16_t world = 3, uint32_t group = 7) {
  return {.table = kTable,
          .group = {.id = group, .rank = rank, .world = world, .first_step = 1},
          .step = step,
          .client = {rank + 1U, 0}};
}
ParkedPush Push(uint16_t rank, TimeNs deadline = kNever) {
  return {.reply_to = {{"peer", {}}},
          .request = {},
          .client = {rank + 1U, 0},
          .sequence = 1,
          .keys = {rank},
          .gradients = {std::make_shared<float[]>(2, 1.0F), 2},
          .deadline = deadline};
}
ParkedPull Pull(uint64_t step, TimeNs deadline = kNever) {
  return {.reply_to = {"peer", {}}, .step = step, .keys = {1}, .deadline = deadline};
}
bool Contains(const Status& status, std::string_view text) {
  return status.message().find(text) != std::string::npos;
}
Status AddPush(StepBarrier& barrier, uint16_t rank, uint64_t step, TimeNs deadline = kNever) {
  STRATA_TRY(barrier.Claim(Member(rank, step), true, 0));
  return barrier.AddPush(Member(rank, step), Push(rank, deadline));
}

TEST(StepBarrier, EveryOrderOfArrivalGivesRankOrder) {
  std::vector<uint16_t> order = {0, 1, 2};
  do {
    StepBarrier barrier(1 << 20);
    for (uint64_t step = 1; step <= 2; ++step) {
      for (size_t i = 0; i < order.size(); ++i) {
        ASSERT_TRUE(AddPush(barrier, order[i], step).ok());
        const auto complete = barrier.TakeComplete(Member(order[i], step));
        ASSERT_EQ(complete.has_value(), i == 2);
        if (!complete) continue;
        for (uint16_t rank = 0; rank < 3; ++rank) EXPECT_EQ((*complete)[rank].keys[0], rank);
        EXPECT_EQ(barrier.OpenStep(Member(0, step)), step);
        barrier.Close(Member(0, step));
        EXPECT_EQ(barrier.OpenStep(Member(0, step)), step + 1);
      }
    }
    EXPECT_EQ(barrier.parked(), 0U);
    EXPECT_EQ(barrier.parked_bytes(), 0U);
  } while (std::ranges::next_permutation(order).found);
}

// All 6! orders in which the pushes of three ranks for two steps can arrive.
TEST(StepBarrier, StepsCloseInOrderWhateverComesFirst) {
  std::vector<int> order(6);
  std::iota(order.begin(), order.end(), 0);
  do {
    StepBarrier barrier(1 << 20);
    std::vector<uint64_t> closed;
    std::array<int, 3> seen{};  // by step
    for (const int which : order) {
      const auto rank = static_cast<uint16_t>(which % 3);
      const uint64_t step = 1 + static_cast<uint64_t>(which / 3);
      ASSERT_TRUE(AddPush(barrier, rank, step).ok());
      ++seen[step];
      while (barrier.TakeComplete(Member(rank, step))) {
        closed.push_back(barrier.OpenStep(Member(rank, step)));
        EXPECT_EQ(seen[closed.back()], 3);
        barrier.Close(Member(rank, step));
      }
    }
    EXPECT_EQ(closed, (std::vector<uint64_t>{1, 2}));
  } while (std::ranges::next_permutation(order).found);
}

TEST(StepBarrier, PullsWaitForTheStepBeforeTheirs) {
  StepBarrier barrier(1 << 20);
  ASSERT_TRUE(barrier.Claim(Member(0, 1), false, 0).ok());
  EXPECT_TRUE(barrier.CanPull(Member(0, 1)));  // an unknown group has closed all before its first
  ASSERT_TRUE(barrier.Claim(Member(0, 2), false, 0).ok());
  EXPECT_FALSE(barrier.CanPull(Member(0, 2)));
  ASSERT_TRUE(barrier.AddPull(Member(0, 2), Pull(2)).ok());
  ASSERT_TRUE(barrier.AddPull(Member(0, 3), Pull(3)).ok());
  for (uint16_t rank = 0; rank < 3; ++rank) ASSERT_TRUE(AddPush(barrier, rank, 1).ok());
  ASSERT_TRUE(barrier.TakeComplete(Member(0, 1)).has_value());
  const std::vector<ParkedPull> ready = barrier.Close(Member(0, 1));
  ASSERT_EQ(ready.size(), 1U);
  EXPECT_EQ(ready[0].step, 2U);
  EXPECT_TRUE(barrier.CanPull(Member(0, 2)));
  EXPECT_EQ(barrier.parked(), 1U);
}

TEST(StepBarrier, ClaimsThatCannotBeAreRefusedByName) {
  StepBarrier barrier(1 << 20);
  ASSERT_TRUE(barrier.Claim(Member(1, 1), true, 0).ok());
  SyncMember other = Member(1, 1);
  other.client = {0xabc, 0xdef};
  const Status taken = barrier.Claim(other, true, 0);
  EXPECT_EQ(taken.code(), StatusCode::kRefused);
  EXPECT_TRUE(Contains(taken, ToString({2, 0}))) << taken.ToString();
  EXPECT_TRUE(Contains(taken, ToString({0xabc, 0xdef})));
  EXPECT_EQ(barrier.Claim(Member(0, 1, 4), true, 0).code(), StatusCode::kRefused);  // other world
  EXPECT_EQ(barrier.Claim(Member(3, 1), true, 0).code(), StatusCode::kInvalid);     // rank = world
  EXPECT_EQ(barrier.Claim(Member(0, 0), true, 0).code(), StatusCode::kInvalid);     // step 0
  EXPECT_EQ(barrier.Claim(Member(0, 0, 0), true, 0).code(), StatusCode::kInvalid);  // world 0
  const uint64_t far = StepBarrier::kStepsAheadMax + 1;
  EXPECT_EQ(barrier.Claim(Member(0, far), true, 0).code(), StatusCode::kRefused);
  EXPECT_TRUE(barrier.Claim(Member(0, far - 1), true, 0).ok());
  // The same rank of another group is another claim.
  SyncMember elsewhere = Member(1, 1, 3, 8);
  elsewhere.client = {0xabc, 0xdef};
  EXPECT_TRUE(barrier.Claim(elsewhere, true, 0).ok());
}

TEST(StepBarrier, AClosedStepTakesNoPush) {
  StepBarrier barrier(1 << 20);
  for (uint16_t rank = 0; rank < 3; ++rank) ASSERT_TRUE(AddPush(barrier, rank, 1).ok());
  EXPECT_EQ(AddPush(barrier, 0, 1).code(), StatusCode::kRefused);  // pushed twice
  ASSERT_TRUE(barrier.TakeComplete(Member(0, 1)).has_value());
  barrier.Close(Member(0, 1));
  const Status late = barrier.Claim(Member(0, 1), true, 0);
  EXPECT_EQ(late.code(), StatusCode::kRefused);
  EXPECT_TRUE(Contains(late, "closed already")) << late.ToString();
  EXPECT_TRUE(barrier.Claim(Member(0, 1), false, 0).ok());  // a late pull is served
}

TEST(StepBarrier, ExpiryNamesTheMissingRanks) {
  StepBarrier barrier(1 << 20);
  ASSERT_TRUE(AddPush(barrier, 1, 1, 100).ok());
  ASSERT_TRUE(barrier.Claim(Member(1, 2), false, 0).ok());
  ASSERT_TRUE(barrier.AddPull(Member(1, 2), Pull(2, 200)).ok());
  EXPECT_EQ(barrier.NextDeadline(), 100);
  EXPECT_TRUE(barrier.Expire(99).pushes.empty());
  StepBarrier::Ended ended = barrier.Expire(100);
  ASSERT_EQ(ended.pushes.size(), 1U);
  EXPECT_EQ(ended.pushes[0].second.code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(Contains(ended.pushes[0].second, "ranks 0, 2 of 3"))
      << ended.pushes[0].second.ToString();
  EXPECT_TRUE(Contains(ended.pushes[0].second, "step 1 of group 7"));
  EXPECT_EQ(barrier.NextDeadline(), 200);
  ended = barrier.Expire(200);
  ASSERT_EQ(ended.pulls.size(), 1U);
  EXPECT_TRUE(Contains(ended.pulls[0].second, "ranks 0, 1, 2 of 3"));
  EXPECT_EQ(barrier.NextDeadline(), kNever);
  EXPECT_EQ(barrier.parked_bytes(), 0U);
  ASSERT_TRUE(AddPush(barrier, 1, 1).ok());  // withdrawn: it may come again
}

TEST(StepBarrier, RequestsAheadOfTheOpenStepGetHalfTheBudget) {
  StepBarrier barrier(4 * Push(0).bytes());
  ASSERT_TRUE(AddPush(barrier, 0, 2).ok());
  ASSERT_TRUE(AddPush(barrier, 1, 2).ok());
  EXPECT_EQ(AddPush(barrier, 2, 2).code(), StatusCode::kRefused);
  ASSERT_TRUE(AddPush(barrier, 0, 1).ok());
  ASSERT_TRUE(AddPush(barrier, 1, 1).ok());
  EXPECT_EQ(AddPush(barrier, 2, 1).code(), StatusCode::kRefused);
}

TEST(StepBarrier, RequestsWithoutKeysTakeRoomToo) {
  StepBarrier barrier(1 << 20);
  size_t waiting = 0;
  Status added;
  while (added.ok() && waiting < 100'000) {
    ASSERT_TRUE(barrier.Claim(Member(0, 2), false, 0).ok());
    ParkedPull pull = Pull(2);
    pull.keys.clear();
    added = barrier.AddPull(Member(0, 2), std::move(pull));
    if (added.ok()) ++waiting;
  }
  EXPECT_EQ(added.code(), StatusCode::kRefused);
  EXPECT_LE(waiting * sizeof(ParkedPull), size_t{1} << 19);
  EXPECT_EQ(barrier.Expire(kNever).pulls.size(), waiting);
  EXPECT_EQ(barrier.parked_bytes(), 0U);
}

TEST(StepBarrier, ARetryIsAnsweredWithItsPush) {
  StepBarrier barrier(1 << 20);
  ASSERT_TRUE(AddPush(barrier, 0, 1, 100).ok());
  for (uint64_t id = 1; id <= 9; ++id) {
    ReplyTo retry{"again", {}};
    retry.request.request_id = id;
    EXPECT_TRUE(barrier.AddRetry(Member(0, 1), retry, 500));
  }
  EXPECT_FALSE(barrier.AddRetry(Member(1, 1), {"again", {}}, 500));
  EXPECT_FALSE(barrier.AddRetry(Member(0, 2), {"again", {}}, 500));
  EXPECT_TRUE(barrier.Expire(499).pushes.empty());
  const StepBarrier::Ended ended = barrier.Expire(500);
  ASSERT_EQ(ended.pushes.size(), 1U);
  const std::vector<ReplyTo>& reply_to = ended.pushes[0].first.reply_to;
  EXPECT_EQ(reply_to.size(), 5U);  // bounded; the latest are kept
  EXPECT_EQ(reply_to.back().request.request_id, 9U);
}

TEST(StepBarrier, IdleGroupsAreForgottenAndDroppedTablesEndTheirs) {
  StepBarrier barrier(1 << 20);
  ASSERT_TRUE(AddPush(barrier, 0, 1).ok());
  SyncMember other = Member(0, 1);
  other.table = 6;
  ASSERT_TRUE(barrier.Claim(other, true, 0).ok());
  barrier.Expire(StepBarrier::kGroupIdle);
  EXPECT_EQ(barrier.groups(), 1U);  // the one with a push waits on
  const StepBarrier::Ended ended = barrier.DropTable(kTable, NotFound("dropped"));
  EXPECT_EQ(ended.pushes.size(), 1U);
  EXPECT_EQ(barrier.groups(), 0U);
  EXPECT_EQ(barrier.parked(), 0U);
}

}  // namespace
}  // namespace strata
