// Synchronous steps through the lane: parking, closing, answering, deadlines, draining.
#include <algorithm>
#include <random>

#include "storage/memory/host_table.h"
#include "storage/memory/memory_budget.h"
#include "tests/ps/server/lane_fixture.h"

namespace strata {
namespace {

using wire::Command;

// A world of ranks, each its own client, that trains one table on one lane.
struct World {
  TestLane lane;
  TableSpec spec = TestSpec("t", 1);
  std::vector<TestClient> ranks;

  explicit World(uint16_t world, LaneConfig config = TestLaneConfig()) : lane(std::move(config)) {
    for (uint64_t rank = 0; rank < world; ++rank) ranks.push_back({.id = rank + 1});
    CreateTable(lane, ranks[0], spec);
  }
  SyncGroup Group(size_t rank) const {
    return {
        .id = 9, .rank = static_cast<uint16_t>(rank), .world = static_cast<uint16_t>(ranks.size())};
  }
  wire::Header PushHeader(size_t rank, uint64_t step, uint32_t keys = 1) {
    return TestClient::Sync(ranks[rank].Write(Command::kPush, IdOf(spec), keys, 1), Group(rank),
                            step);
  }
  auto Push(size_t rank, uint64_t step, float gradient) {
    return Send(rank, PushHeader(rank, step), {Keys({1}), Rows({gradient})});
  }
  auto Pull(size_t rank, uint64_t step) {
    return Send(
        rank, TestClient::Sync(ranks[rank].Read(Command::kPull, IdOf(spec), 1), Group(rank), step),
        {Keys({1})});
  }
  std::vector<std::pair<std::string, wire::Received>> Send(size_t rank, const wire::Header& header,
                                                           Message payload) {
    return lane.Handle("rank" + std::to_string(rank), wire::Seal(header, std::move(payload)));
  }
  static Status StatusOf(const std::pair<std::string, wire::Received>& reply) {
    return wire::StatusOfReply(reply.second);
  }
  static float ValueOf(const std::pair<std::string, wire::Received>& reply) {
    EXPECT_TRUE(StatusOf(reply).ok()) << StatusOf(reply).ToString();
    return wire::ReadRows(reply.second.payload.at(0), 1, 1).value()[0];
  }
};

TEST(LaneSync, AStepClosesWhenAllHaveComeAndAllAreAnswered) {
  World world(3);
  EXPECT_TRUE(world.Push(2, 1, 4).empty());
  EXPECT_TRUE(world.Push(0, 1, 1).empty());
  const auto early = world.Pull(1, 1);  // step 1 needs nothing closed
  ASSERT_EQ(early.size(), 1U);
  EXPECT_EQ(World::ValueOf(early[0]), 0.0F);
  EXPECT_TRUE(world.Pull(0, 2).empty());
  const auto closed = world.Push(1, 1, 2);
  ASSERT_EQ(closed.size(), 4U);  // three acknowledgements, then the pull that waited
  for (size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(closed[rank].first, "rank" + std::to_string(rank));
    EXPECT_TRUE(World::StatusOf(closed[rank]).ok());
  }
  EXPECT_EQ(closed[3].first, "rank0");
  EXPECT_EQ(World::ValueOf(closed[3]), -7.0F);
  EXPECT_EQ(world.lane.metrics.pushed_keys.Value(), 3U);
  EXPECT_TRUE(world.lane.lane.Idle());
}

// The rule runs once with the sum over ranks in rank order, whatever the order of arrival: compared
// with one update whose gradients stand in that order. Float addition is not associative, so
// another order would show.
TEST(LaneSync, SumsInRankOrderWhateverTheOrderOfArrival) {
  const std::vector<float> gradients = {1e8F, 1.0F, -1e8F, 0.25F};
  std::vector<size_t> order = {0, 1, 2, 3};
  float expected = 0;
  {
    MapTable table(TestSpec("t", 1));
    const std::vector<Key> keys(4, 1);
    const GradientPart part{keys, gradients};
    ASSERT_TRUE(table.ApplyGradients({&part, 1}, 1).ok());
    ASSERT_TRUE(table.Lookup(std::vector<Key>{1}, {&expected, 1}).ok());
  }
  do {
    World world(4);
    for (const size_t rank : order) world.Push(rank, 1, gradients[rank]);
    const auto pulled = world.Pull(0, 2);
    ASSERT_EQ(pulled.size(), 1U);
    EXPECT_EQ(World::ValueOf(pulled[0]), expected);
  } while (std::ranges::next_permutation(order).found);
}

TEST(LaneSync, APushPullIsAnsweredWithTheRowsOfItsClosedStep) {
  World world(2);
  const auto push_pull = [&](size_t rank, uint64_t step, float gradient) {
    wire::Header header = world.PushHeader(rank, step);
    header.command = Command::kPushPull;
    return std::pair(header, Message{Keys({1}), Rows({gradient}), Keys({1, 8, 1})});
  };
  const auto rows = [](const std::pair<std::string, wire::Received>& reply) {
    EXPECT_TRUE(World::StatusOf(reply).ok()) << World::StatusOf(reply).ToString();
    EXPECT_EQ(reply.second.header.command, Command::kPushPull);
    EXPECT_EQ(reply.second.header.count, 3U);
    return wire::ReadRows(reply.second.payload.at(0), 3, 1).value();
  };
  auto [first, payload] = push_pull(0, 1, 5);
  EXPECT_TRUE(world.Send(0, first, payload).empty());
  first.request_id = 1000;  // a repeat while it waits
  EXPECT_TRUE(world.Send(0, first, payload).empty());
  const auto closed = world.Push(1, 1, 1);
  ASSERT_EQ(closed.size(), 3U);
  EXPECT_EQ(rows(closed[0]), (std::vector<float>{-6, 0, -6}));
  EXPECT_EQ(closed[1].second.header.request_id, 1000U);
  EXPECT_EQ(rows(closed[1]), rows(closed[0]));
  EXPECT_TRUE(closed[2].second.payload.empty());
  first.request_id = 1001;  // and one behind it: rows again, nothing applied again
  const auto again = world.Send(0, first, payload);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(rows(again[0]), (std::vector<float>{-6, 0, -6}));
  // A step whose pushes all came before the one in front of it: each sees its own step only.
  EXPECT_TRUE(world.Push(1, 3, 100).empty());
  EXPECT_TRUE(world.Push(1, 2, 10).empty());
  const auto [third, third_payload] = push_pull(0, 3, 0);
  EXPECT_TRUE(world.Send(0, third, third_payload).empty());
  const auto [second, second_payload] = push_pull(0, 2, 0);
  const auto both = world.Send(0, second, second_payload);
  ASSERT_EQ(both.size(), 4U);
  EXPECT_EQ(rows(both[0])[0], -16.0F);
  EXPECT_EQ(rows(both[2])[0], -116.0F);
}

TEST(LaneSync, APushPullWithKeysOutOfPlaceChangesNothing) {
  TestLane lane(TestLaneConfig(2, 0));
  TestClient client;
  const TableSpec spec = TestSpec("t", 1);
  CreateTable(lane, client, spec);
  Key ours = 0;
  while (lane.lane.config().map->LaneOf(ours) != 0) ++ours;
  Key others = 0;
  while (lane.lane.config().map->LaneOf(others) != 1) ++others;
  const auto ask = [&](Frame then) {
    return lane.AskStatus(client.Write(Command::kPushPull, IdOf(spec), 1, 1),
                          {Keys({ours}), Rows({1}), std::move(then)});
  };
  EXPECT_EQ(ask(Keys({others})).code(), StatusCode::kRefused);
  EXPECT_EQ(ask(Rows({1})).code(), StatusCode::kInvalid);  // half a key
  const auto pulled = lane.Ask(client.Read(Command::kPull, IdOf(spec), 1), {Keys({ours})});
  EXPECT_EQ(wire::ReadRows(pulled.payload.at(0), 1, 1).value()[0], 0.0F);
  EXPECT_TRUE(ask(Keys({})).ok());
  EXPECT_TRUE(ask(Keys({ours})).ok());
}

TEST(LaneSync, RetriesOfAWaitingPushAreAnsweredWithItAndAppliedOnce) {
  World world(2);
  wire::Header push = world.PushHeader(0, 1);
  const Message payload = {Keys({1}), Rows({5})};
  EXPECT_TRUE(world.Send(0, push, payload).empty());
  push.request_id = 1000;
  EXPECT_TRUE(world.Send(0, push, payload).empty());
  const auto closed = world.Push(1, 1, 1);
  ASSERT_EQ(closed.size(), 3U);
  EXPECT_EQ(closed[1].second.header.request_id, 1000U);
  push.request_id = 1001;  // and once more, after the step has closed
  const auto again = world.Send(0, push, payload);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_TRUE(World::StatusOf(again[0]).ok());
  EXPECT_EQ(World::ValueOf(world.Pull(0, 2).at(0)), -6.0F);
}

TEST(LaneSync, ADeadlineNamesTheMissingRanksAndTheStepMayBeTriedAgain) {
  World world(3);
  wire::Header push = world.PushHeader(1, 1);
  push.timeout_ms = 50;
  const TimeNs start = world.lane.now;
  EXPECT_TRUE(world.Send(1, push, {Keys({1}), Rows({5})}).empty());
  EXPECT_EQ(world.lane.lane.NextTick(), start + 50 * kMillisecond);
  world.lane.now = start + 49 * kMillisecond;
  EXPECT_TRUE(world.lane.Tick().empty());
  world.lane.now = start + 50 * kMillisecond;
  const auto late = world.lane.Tick();
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(World::StatusOf(late[0]).code(), StatusCode::kDeadlineExceeded);
  EXPECT_NE(World::StatusOf(late[0]).message().find("ranks 0, 2 of 3"), std::string::npos);
  // Nothing of it was applied; under the same sequence it is new.
  world.Push(0, 1, 1);
  world.Push(2, 1, 1);
  push.timeout_ms = 0;
  EXPECT_EQ(world.Send(1, push, {Keys({1}), Rows({5})}).size(), 3U);
  EXPECT_EQ(World::ValueOf(world.Pull(0, 2).at(0)), -7.0F);
}

TEST(LaneSync, EmptyPushesCloseStepsToo) {
  World world(2);
  EXPECT_TRUE(world.Send(0, world.PushHeader(0, 1, 0), {Keys({}), Rows({})}).empty());
  EXPECT_EQ(world.Send(1, world.PushHeader(1, 1, 0), {Keys({}), Rows({})}).size(), 2U);
  EXPECT_EQ(world.Pull(0, 2).size(), 1U);
}

TEST(LaneSync, TwoClientsWithOneRankAreBothNamed) {
  World world(2);
  world.Push(0, 1, 1);
  TestClient impostor{.id = 77};
  const Status status = world.lane.AskStatus(
      TestClient::Sync(impostor.Write(Command::kPush, IdOf(world.spec), 1, 1), world.Group(0), 1),
      {Keys({1}), Rows({1})});
  EXPECT_EQ(status.code(), StatusCode::kRefused);
  EXPECT_NE(status.message().find(ToString({77, 77})), std::string::npos) << status.ToString();
  EXPECT_NE(status.message().find(ToString({1, 1})), std::string::npos);
}

TEST(LaneSync, DrainingCompletesTheStepThatHasBegunAndNoMore) {
  World world(2);
  EXPECT_TRUE(world.Push(0, 1, 1).empty());
  EXPECT_TRUE(world.lane.Drain().empty());
  EXPECT_FALSE(world.lane.lane.Idle());
  EXPECT_EQ(world.Push(1, 1, 1).size(), 2U);
  EXPECT_TRUE(world.lane.lane.Idle());
  const auto refused = world.Push(0, 2, 1);
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_NE(World::StatusOf(refused[0]).message().find("draining"), std::string::npos);
}

TEST(LaneSync, DrainingRefusesWhatWaitsForAStepThatHasNotBegun) {
  World world(2);
  EXPECT_TRUE(world.Push(0, 1, 1).empty());
  EXPECT_TRUE(world.Pull(0, 2).empty());     // of step 1, which has begun
  EXPECT_TRUE(world.Pull(0, 3).empty());     // of step 2, which has not
  EXPECT_TRUE(world.Push(0, 3, 1).empty());  // beyond step 2
  const auto refused = world.lane.Drain();
  ASSERT_EQ(refused.size(), 2U);
  for (const auto& reply : refused) {
    EXPECT_EQ(World::StatusOf(reply).code(), StatusCode::kRefused);
    EXPECT_NE(World::StatusOf(reply).message().find("server 0 is draining"), std::string::npos);
  }
  EXPECT_EQ(world.lane.lane.Report().parked_requests, 2U);
  const auto late = world.Pull(1, 3);  // nor may one begin to wait for it
  ASSERT_EQ(late.size(), 1U);
  EXPECT_EQ(World::StatusOf(late[0]).code(), StatusCode::kRefused);
  EXPECT_TRUE(world.Pull(1, 2).empty());
  const auto closed = world.Push(1, 1, 1);
  ASSERT_EQ(closed.size(), 4U);
  for (const auto& reply : closed) EXPECT_TRUE(World::StatusOf(reply).ok());
  EXPECT_TRUE(world.lane.lane.Idle());
}

// A rule that does not run for want of memory: nobody waits for what will not come, and the step
// can be pushed again once there is room.
TEST(LaneSync, AStepThatMemoryRefusesEndsThePullsThatWaitForIt) {
  MemoryBudget budget(0);
  LaneConfig config = TestLaneConfig();
  config.make_table = [&](const TableSpec& spec) {
    return std::make_unique<HostTable>(spec, &budget);
  };
  World world(2, config);
  EXPECT_TRUE(world.Push(0, 1, 1).empty());
  EXPECT_TRUE(world.Pull(0, 2).empty());
  EXPECT_TRUE(world.Pull(1, 3).empty());
  const auto failed = world.Push(1, 1, 1);
  ASSERT_EQ(failed.size(), 4U);
  for (const auto& reply : failed) {
    EXPECT_EQ(World::StatusOf(reply).code(), StatusCode::kRefused) << reply.first;
    EXPECT_EQ(World::StatusOf(reply).message(), World::StatusOf(failed[0]).message());
  }
  EXPECT_EQ(world.lane.metrics.RefusedFor(Refusal::kMemory).Value(), 1U);  // the step
  EXPECT_EQ(failed[2].second.header.command, Command::kPull);
  EXPECT_EQ(failed[3].second.header.command, Command::kPull);
  EXPECT_TRUE(world.lane.lane.Idle());
  EXPECT_TRUE(world.Pull(0, 2).empty()) << "the step is open still";
}

TEST(LaneSync, DroppingATableAndStoppingAnswerWhatWaits) {
  World world(2);
  EXPECT_TRUE(world.Push(0, 1, 1).empty());
  EXPECT_TRUE(world.Pull(0, 2).empty());
  auto replies = world.Send(1, world.ranks[1].Write(Command::kDropTable, IdOf(world.spec)), {});
  ASSERT_EQ(replies.size(), 3U);
  EXPECT_EQ(World::StatusOf(replies[0]).code(), StatusCode::kNotFound);
  EXPECT_EQ(World::StatusOf(replies[1]).code(), StatusCode::kNotFound);
  EXPECT_TRUE(World::StatusOf(replies[2]).ok());
  CreateTable(world.lane, world.ranks[0], world.spec);
  EXPECT_TRUE(world.Push(0, 1, 1).empty());
  std::vector<Envelope> out;
  world.lane.lane.EndAll(&out);
  replies = TestLane::Opened(std::move(out));
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(World::StatusOf(replies[0]).ToString(),
            "LOST: server 0 is shutting down; nothing of this request was applied: send it again "
            "when it is back");
}

TEST(LaneSync, WhatWaitsIsBounded) {
  LaneConfig config = TestLaneConfig();
  config.queue_bytes_max = 2500;
  World world(2, config);
  const uint32_t count = 200;  // 12 bytes each
  const auto replies =
      world.Send(0, world.PushHeader(0, 1, count),
                 {Keys(std::vector<uint64_t>(count, 1)), Rows(std::vector<float>(count, 1))});
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(World::StatusOf(replies[0]).code(), StatusCode::kRefused);
  EXPECT_EQ(world.lane.metrics.RefusedFor(Refusal::kQueue).Value(), 1U);
  EXPECT_TRUE(world.lane.lane.Idle());
  const wire::Header pull = TestClient::Sync(
      world.ranks[1].Read(Command::kPull, IdOf(world.spec), count), world.Group(1), 2);
  EXPECT_EQ(world.Send(1, pull, {Keys(std::vector<uint64_t>(count, 1))}).size(), 1U);
  EXPECT_EQ(world.lane.metrics.RefusedFor(Refusal::kQueue).Value(), 2U);
}

// Many random runs of a whole job with lost requests, lost replies and retries, against plain sums.
TEST(LaneSync, RandomLossNeitherLosesNorDoublesAPush) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    std::mt19937_64 random(seed);
    const auto ranks = static_cast<uint16_t>(1 + random() % 4);
    World world(ranks);
    float expected = 0;
    for (uint64_t step = 1; step <= 10; ++step) {
      std::vector<wire::Header> push(ranks);
      std::vector<bool> acked(ranks, false);
      for (size_t rank = 0; rank < ranks; ++rank) {
        push[rank] = world.PushHeader(rank, step);
        expected -= static_cast<float>(rank + 1);
      }
      while (std::ranges::find(acked, false) != acked.end()) {
        const size_t rank = random() % ranks;
        if (acked[rank] || random() % 3 == 0) continue;  // the request is lost
        push[rank].request_id = world.ranks[rank].next_request++;
        for (const auto& reply :
             world.Send(rank, push[rank], {Keys({1}), Rows({static_cast<float>(rank + 1)})})) {
          EXPECT_TRUE(World::StatusOf(reply).ok()) << World::StatusOf(reply).ToString();
          if (random() % 3 != 0) acked[static_cast<size_t>(reply.first.back() - '0')] = true;
        }
      }
    }
    EXPECT_EQ(World::ValueOf(world.Pull(0, 11).at(0)), expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace strata
