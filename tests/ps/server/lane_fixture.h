// A lane on its own, or several of one map, driven message by message: no sockets, no threads, time
// moved by hand.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "proto/wire/commands.h"
#include "proto/wire/shard_map.h"
#include "ps/client/table_wire.h"
#include "ps/service/lane.h"
#include "tests/support/map_table.h"

namespace strata {

constexpr uint64_t kTestCluster = 0xc105;
constexpr uint64_t kTestIncarnation = 0x11fe0001;  // lineage 0x11fe, boot 1

inline LaneConfig TestLaneConfig(uint16_t lanes = 1, uint16_t lane = 0) {
  LaneConfig config;
  config.name = {.server = 0, .lane = lane};
  config.map = std::make_shared<wire::ShardMap>(wire::MakeShardMap({{lanes}}).value());
  config.cluster_id = kTestCluster;
  config.hello.incarnation = kTestIncarnation;
  config.hello.lane_ports = {7600};
  config.hello.server_version = "test";
  config.make_table = [](const TableSpec& spec) { return std::make_unique<MapTable>(spec); };
  return config;
}

class TestLane {
 public:
  explicit TestLane(LaneConfig config = TestLaneConfig())
      : metrics(registry, config.name.lane), lane(std::move(config), metrics) {}

  MetricsRegistry registry;
  LaneMetrics metrics;
  Lane lane;
  TimeNs now = kSecond;

  // All replies to a message, opened; each must be well formed.
  std::vector<std::pair<std::string, wire::Received>> Handle(const std::string& peer,
                                                             Message message) {
    std::vector<Envelope> out;
    lane.Handle({peer, std::move(message)}, now, &out);
    return Opened(std::move(out));
  }
  std::vector<std::pair<std::string, wire::Received>> Tick() {
    std::vector<Envelope> out;
    lane.Tick(now, &out);
    return Opened(std::move(out));
  }
  std::vector<std::pair<std::string, wire::Received>> Drain() {
    std::vector<Envelope> out;
    lane.Drain(DrainReason::kAsked, &out);
    return Opened(std::move(out));
  }
  static std::vector<std::pair<std::string, wire::Received>> Opened(std::vector<Envelope> out) {
    std::vector<std::pair<std::string, wire::Received>> replies;
    for (Envelope& envelope : out) {
      Result<wire::Received> reply = wire::Open(std::move(envelope.message));
      EXPECT_TRUE(reply.ok()) << reply.status().ToString();
      EXPECT_TRUE(reply->header.is(wire::kFlagReply));
      replies.emplace_back(envelope.peer, std::move(*reply));
    }
    return replies;
  }
  // The one reply that a request must have at once.
  wire::Received Ask(const wire::Header& header, Message payload = {}) {
    auto replies = Handle("peer", wire::Seal(header, std::move(payload)));
    EXPECT_EQ(replies.size(), 1U);
    if (replies.empty()) return {};
    EXPECT_EQ(replies[0].second.header.request_id, header.request_id);
    EXPECT_EQ(replies[0].second.header.incarnation, kTestIncarnation);
    return std::move(replies[0].second);
  }
  Status AskStatus(const wire::Header& header, Message payload = {}) {
    return wire::StatusOfReply(Ask(header, std::move(payload)));
  }
};

// One client's requests: numbers itself and its writes.
struct TestClient {
  uint64_t id = 1;
  uint64_t next_request = 1;
  uint64_t next_sequence = 1;

  wire::Header Read(wire::Command command, uint64_t name_hash = 0, uint32_t count = 0) {
    wire::Header header;
    header.command = command;
    header.request_id = next_request++;
    header.cluster_id = kTestCluster;
    header.client_hi = id;
    header.client_lo = id;
    header.epoch = 1;
    header.SetName(name_hash);
    header.count = count;
    return header;
  }
  wire::Header Write(wire::Command command, uint64_t name_hash = 0, uint32_t count = 0,
                     uint32_t width = 0) {
    wire::Header header = Read(command, name_hash, count);
    header.sequence = next_sequence++;
    header.settled_below = 1;
    header.step = 1;
    header.width = width;
    return header;
  }
  static wire::Header Sync(wire::Header header, SyncGroup group, uint64_t step) {
    header.flags |= wire::kFlagSync;
    header.group = group.id;
    header.rank = group.rank;
    header.world = group.world;
    header.first_step = group.first_step;
    header.step = step;
    return header;
  }
};

inline TableSpec TestSpec(const std::string& name = "t", uint32_t dim = 2) {
  TableSpec spec;
  spec.name = name;
  spec.dim = dim;
  spec.optimizer.kind = OptimizerKind::kSgd;
  spec.optimizer.learning_rate = 1.0F;
  return spec;
}
inline uint64_t IdOf(const TableSpec& spec) { return static_cast<uint64_t>(spec.id()); }

inline Frame Keys(std::vector<uint64_t> keys) { return Frame::Own(std::move(keys)); }
inline Frame Rows(std::vector<float> rows) { return Frame::Own(std::move(rows)); }
inline Frame Definition(const TableSpec& spec) {
  return wire::EncodeTableDefinitions(std::vector<wire::TableDefinition>{ToWire(spec)});
}

inline void CreateTable(TestLane& lane, TestClient& client, const TableSpec& spec) {
  const Status status =
      lane.AskStatus(client.Write(wire::Command::kCreateTable), {Definition(spec)});
  ASSERT_TRUE(status.ok()) << status.ToString();
}

}  // namespace strata
