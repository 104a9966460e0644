// How much a lane grants its clients, and that whoever keeps to it is never refused for memory.
#include "ps/shard/credits.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "ps/client/client_core.h"
#include "tests/ps/server/lane_fixture.h"

namespace strata {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// What the client is granted once it has been told often enough.
size_t Settled(Credits& credits, const ClientId& client) {
  for (int reply = 0; reply < 10; ++reply) credits.Grant(client);
  return credits.Grant(client);
}

TEST(Credits, GrantsDoubleWithEveryReply) {
  Credits credits(128 * kMiB);
  credits.Hear({1, 1}, 0);
  for (size_t expected = wire::kCreditMin; expected <= Credits::kCreditMax; expected *= 2) {
    EXPECT_EQ(credits.Grant({1, 1}), expected);
  }
  EXPECT_EQ(credits.Grant({1, 1}), Credits::kCreditMax);
  // One that falls silent leaves enough for others.
  credits.Hear({2, 2}, 0);
  EXPECT_EQ(Settled(credits, {2, 2}), Credits::kCreditMax);
}

TEST(Credits, ClientsShareWhatThereIs) {
  Credits credits(32 * kMiB);
  for (uint64_t id = 1; id <= 200; ++id) {
    credits.Hear({id, id}, kSecond);
    // All have heard of the new one before the next comes.
    for (int round = 0; round < 10; ++round) {
      size_t sum = 0;
      for (uint64_t one = 1; one <= id; ++one) sum += credits.Grant({one, one});
      if (round > 0 && id <= 128) {
        EXPECT_LE(sum, 32 * kMiB) << id << " clients";
      }
    }
    EXPECT_EQ(credits.Grant({1, 1}), std::max<size_t>(wire::kCreditMin, 32 * kMiB / id));
  }
}

// A tool that has asked much and ended must not slow down who comes next.
TEST(Credits, TheSilentTakeNoMoreThanTheirShare) {
  Credits credits(64 * kMiB);
  for (uint64_t id = 1; id <= 8; ++id) {
    credits.Hear({id, id}, 0);
    EXPECT_EQ(Settled(credits, {id, id}), std::min(Credits::kCreditMax, 64 * kMiB / id));
  }
  EXPECT_EQ(credits.Grant({1, 1}), 8 * kMiB);
}

TEST(Credits, TheSilentAreForgotten) {
  Credits credits(8 * kMiB);
  for (uint64_t id = 1; id <= 4; ++id) {
    credits.Hear({id, id}, kSecond);
    credits.Grant({id, id});
  }
  for (TimeNs now = kSecond; now <= 22 * kSecond; now += kSecond) {
    credits.Hear({1, 1}, now);
    if (now <= 9 * kSecond) {
      EXPECT_EQ(credits.clients(), 4U);
    }
  }
  EXPECT_EQ(credits.clients(), 1U);
  EXPECT_EQ(Settled(credits, {1, 1}), 8 * kMiB);
  EXPECT_EQ(credits.Grant({2, 2}), wire::kCreditMin);  // not heard of: it may always have so much
}

TEST(Credits, InventedNamesCostBoundedMemory) {
  Credits credits(8 * kMiB);
  for (uint64_t id = 1; id <= 2 * Credits::kClientsMax; ++id) credits.Hear({id, id}, kSecond);
  EXPECT_EQ(credits.clients(), Credits::kClientsMax);
}

TEST(Credits, EveryReplyOfALaneTellsThem) {
  LaneConfig config = TestLaneConfig();
  config.queue_bytes_max = 64 * kMiB;
  TestLane lane(config);
  TestClient clients[4];
  for (uint64_t i = 0; i < 4; ++i) {
    clients[i].id = i + 1;
  }
  for (int round = 0; round < 10; ++round) {
    for (TestClient& client : clients) lane.Ask(client.Read(wire::Command::kPing));
  }
  for (TestClient& client : clients) {
    lane.Ask(client.Read(wire::Command::kPing));
    EXPECT_EQ(lane.Ask(client.Read(wire::Command::kPing)).header.credit, 8 * kMiB);
    const wire::Received error = lane.Ask(client.Read(wire::Command::kStats, 77));
    EXPECT_FALSE(wire::StatusOfReply(error).ok());
    EXPECT_EQ(error.header.credit, 8 * kMiB);
  }
}

// One lane and its clients, in one thread.
class Fleet {
 public:
  Fleet(size_t clients, size_t queue_bytes_max) {
    LaneConfig config = TestLaneConfig();
    config.queue_bytes_max = queue_bytes_max;
    lane_ = std::make_unique<TestLane>(config);
    for (size_t i = 0; i < clients; ++i) {
      ClientCoreOptions options;
      options.servers = {"host:7600"};
      options.cluster_id = kTestCluster;
      options.client_hi = options.client_lo = i + 1;
      cores_.push_back(std::make_unique<ClientCore>(options));
    }
  }
  ClientCore& core(size_t i) { return *cores_[i]; }
  TestLane& lane() { return *lane_; }
  TimeNs now() const { return lane_->now; }

  // Until nobody has anything to say.
  void Exchange() {
    bool any = true;
    while (any) {
      any = false;
      for (size_t i = 0; i < cores_.size(); ++i) {
        for (Envelope& envelope : cores_[i]->TakeOutgoing()) {
          any = true;
          std::vector<Envelope> out;
          lane_->lane.Handle({std::to_string(i), std::move(envelope.message)}, now(), &out);
          for (Envelope& reply : out) {
            cores_[std::stoul(reply.peer)]->Handle({"tcp://host:7600", std::move(reply.message)},
                                                   now());
          }
        }
      }
    }
  }

 private:
  std::unique_ptr<TestLane> lane_;
  std::vector<std::unique_ptr<ClientCore>> cores_;
};

// All ranks pull for the next step before any has pushed: what they ask for waits in the lane, and
// together it is more than half of the queue's memory.
TEST(Credits, ManyClientsAreNeverRefusedForQueueMemory) {
  constexpr uint16_t kRanks = 50;
  constexpr size_t kKeys = 65'536;  // 512 KiB each, 25 MiB together
  Fleet fleet(kRanks, 32 * kMiB);
  TableSpec spec;
  spec.name = "table";
  spec.dim = 1;
  std::vector<Key> keys(kKeys);
  std::iota(keys.begin(), keys.end(), Key{1});
  std::vector<std::vector<float>> rows(kRanks, std::vector<float>(kKeys));
  const std::vector<float> gradient = {1};
  size_t done = 0;
  Status first_error;
  const auto ended = [&](const Outcome& outcome) {
    ++done;
    if (first_error.ok()) first_error = outcome.status;
  };
  const auto submit = [&](uint16_t rank, OpKind kind, uint64_t step, const TablePart& part) {
    Operation operation;
    operation.kind = kind;
    operation.parts = {part};
    operation.step = step;
    operation.sync = SyncGroup{.id = 1, .rank = rank, .world = kRanks, .first_step = 1};
    fleet.core(rank).Submit(std::move(operation), ended, fleet.now());
  };
  fleet.core(0).CreateTable(
      spec, [&](const Status& status) { EXPECT_TRUE(status.ok()) << status.ToString(); },
      fleet.now());
  fleet.Exchange();
  for (uint16_t rank = 0; rank < kRanks; ++rank) {
    submit(rank, OpKind::kLookup, 2, {.table = spec.id(), .keys = keys, .out = rows[rank]});
  }
  fleet.Exchange();
  ASSERT_TRUE(first_error.ok()) << first_error.ToString();
  EXPECT_EQ(done, 0U);
  for (uint16_t rank = 0; rank < kRanks; ++rank) {
    submit(rank, OpKind::kUpdate, 1,
           {.table = spec.id(), .keys = std::span(keys).first(1), .in = gradient});
  }
  fleet.Exchange();
  ASSERT_TRUE(first_error.ok()) << first_error.ToString();
  EXPECT_EQ(done, 2U * kRanks);
  for (const auto& row : rows) EXPECT_EQ(row, rows[0]);
  EXPECT_EQ(fleet.lane().metrics.ErrorsOf(StatusCode::kRefused).Value(), 0U);
}

}  // namespace
}  // namespace strata
