// Collectives beside the caller's own work: order, results, deadlines, cancel and destruction.
#include "strata/async_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <numeric>
#include <thread>
#include <vector>

#include "cluster/collective/memory_world.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

// One rank of a world: its group, its calls.
struct Rank {
  explicit Rank(MemoryWorld* world, int rank) : group(world->rank(rank)), calls(group) {}
  Group group;
  AsyncCalls calls;
};

PendingCall StartSum(Rank* rank, std::vector<int64_t>* data, TimeNs timeout = 20 * kSecond) {
  return rank->calls.Start([data, timeout](Group& group) {
    return group.Allreduce(std::span(*data), ReduceOp::kSum, {.timeout = timeout});
  });
}

TEST(AsyncCalls, ManyCallsOfOneThreadOverlap) {
  constexpr int kWorld = 4;
  MemoryWorld world(kWorld);
  std::vector<std::unique_ptr<Rank>> ranks;
  for (int r = 0; r < kWorld; ++r) ranks.push_back(std::make_unique<Rank>(&world, r));
  constexpr size_t kCalls = 50;
  std::vector<std::vector<std::vector<int64_t>>> data(kWorld);
  std::vector<PendingCall> pending;
  // One thread starts the calls of all ranks: none of them waits for another rank.
  for (size_t call = 0; call < kCalls; ++call) {
    for (auto& mine : data) mine.emplace_back(call * 13 % 700 + 1, static_cast<int64_t>(call));
  }
  for (size_t call = 0; call < kCalls; ++call) {
    for (size_t r = 0; r < kWorld; ++r) {
      pending.push_back(StartSum(ranks[r].get(), &data[r][call]));
    }
  }
  for (const PendingCall& call : pending) ASSERT_TRUE(call.Wait(20 * kSecond).ok());
  for (const auto& mine : data) {
    for (size_t call = 0; call < kCalls; ++call) {
      for (const int64_t value : mine[call]) {
        ASSERT_EQ(value, static_cast<int64_t>(kWorld * call));
      }
    }
  }
}

TEST(AsyncCalls, WaitWithoutADeadlineWaitsForTheCall) {
  MemoryWorld world(1);
  Group group(world.rank(0));
  AsyncCalls calls(group);
  std::promise<void> go;
  const PendingCall call = calls.Start([&](Group&) {
    go.get_future().wait();
    return Failed("as it ended");
  });
  std::future<Status> waited = std::async(std::launch::async, [&] { return call.Wait(kNever); });
  go.set_value();
  EXPECT_EQ(waited.get().message(), "as it ended");
}

TEST(AsyncCalls, WaitGivesUpAndTheCallGoesOn) {
  MemoryWorld world(2);
  Rank first(&world, 0);
  std::vector<int64_t> a(10, 1);
  std::vector<int64_t> b(10, 2);
  const PendingCall call = StartSum(&first, &a);
  EXPECT_EQ(call.Wait(kMillisecond).code(), StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(call.done());
  Group second(world.rank(1));
  ASSERT_TRUE(second.Allreduce(std::span(b), ReduceOp::kSum).ok());
  ASSERT_TRUE(call.Wait(20 * kSecond).ok());
  EXPECT_EQ(a, std::vector<int64_t>(10, 3));
}

TEST(AsyncCalls, ACallThatMeetsItsDeadlineEndsTheGroup) {
  MemoryWorld world(2);
  Rank first(&world, 0);
  std::vector<int64_t> a(10, 1);
  const PendingCall late = StartSum(&first, &a, kSecond / 10);
  const PendingCall behind = StartSum(&first, &a);
  EXPECT_EQ(late.Wait(20 * kSecond).code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(behind.Wait(20 * kSecond).code(), StatusCode::kDeadlineExceeded);
}

TEST(AsyncCalls, CancelEndsWhatIsPending) {
  MemoryWorld world(2);
  Rank first(&world, 0);
  std::vector<int64_t> a(10, 1);
  const PendingCall waiting = StartSum(&first, &a);
  const PendingCall behind = StartSum(&first, &a);
  first.calls.Cancel(Cancelled("enough"));
  EXPECT_THAT(waiting.Wait(20 * kSecond).message(), HasSubstr("enough"));
  EXPECT_THAT(behind.Wait(20 * kSecond).message(), HasSubstr("enough"));
}

TEST(AsyncCalls, DestructionGivesUpWhatHasNotBegun) {
  MemoryWorld world(2);
  std::vector<int64_t> a(10, 1);
  std::vector<int64_t> b(10, 1);
  std::optional<PendingCall> behind;
  {
    Rank first(&world, 0);
    StartSum(&first, &a, kSecond / 10);
    behind = StartSum(&first, &b);
  }
  EXPECT_FALSE(behind->Wait(20 * kSecond).ok());
}

}  // namespace
}  // namespace strata
