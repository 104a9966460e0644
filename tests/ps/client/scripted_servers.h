// The other side of a ClientCore, played by the test: it takes the core's messages, opens them, and
// answers as the test says.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "ps/client/client_core.h"
#include "ps/client/table_wire.h"

namespace strata {

inline TableSpec TestTable(uint32_t dim) {
  TableSpec spec;
  spec.name = "dim" + std::to_string(dim);
  spec.dim = dim;
  return spec;
}
inline TableSpec AppliedTable() {
  TableSpec spec = TestTable(1);
  spec.name = "applied";
  spec.ack = AckLevel::kApplied;
  return spec;
}
inline TableSpec OtherTable() {
  TableSpec spec = TestTable(1);
  spec.name = "other";
  return spec;
}

struct Sent {
  std::string peer;
  wire::Received message;
  const wire::Header& header() const { return message.header; }
};

class ScriptedServers {
 public:
  // Each server's main port is 7000, its lanes are at 7001 and onwards; of a later boot, at 7101,
  // ...
  explicit ScriptedServers(std::vector<uint16_t> lanes_per_server, ClientCoreOptions options = {})
      : map(wire::MakeShardMap(lanes_per_server).value()),
        lanes(std::move(lanes_per_server)),
        lineages(lanes.size(), 1),
        boots(lanes.size(), 0),
        versions(lanes.size(), wire::kVersion),
        nonces(lanes.size(), 0x100),
        core([&] {
          for (size_t i = 0; i < lanes.size(); ++i) {
            options.servers.push_back("host" + std::to_string(i) + ":7000");
          }
          options.cluster_id = 5;
          options.client_hi = 1;
          options.client_lo = 2;
          options.ping_every = kSecond;  // with the first resend, so that scripts stay short
          return options;
        }()) {}

  wire::HelloReply HelloOf(uint16_t server) const {
    wire::HelloReply hello;
    hello.version_max = versions[server];
    hello.server = server;
    hello.servers = static_cast<uint16_t>(lanes.size());
    hello.incarnation = Incarnation(server);
    for (uint16_t lane = 0; lane < lanes[server]; ++lane) {
      hello.lane_ports.push_back(static_cast<uint16_t>(7001 + 100 * boots[server] + lane));
    }
    return hello;
  }
  uint64_t Incarnation(uint16_t server) const {
    return (((lineages[server] << 8) + server) << 16) + boots[server];
  }

  // Takes what the core sends. Messages must be well formed.
  void Collect() {
    for (Envelope& envelope : core.TakeOutgoing()) {
      Result<wire::Received> opened = wire::Open(std::move(envelope.message));
      ASSERT_TRUE(opened.ok()) << opened.status().ToString();
      sent.push_back({envelope.peer, std::move(*opened)});
    }
  }
  Sent Next() {
    Collect();
    if (sent.empty()) {
      ADD_FAILURE() << "the core has sent nothing";
      return {};
    }
    Sent first = std::move(sent.front());
    sent.pop_front();
    return first;
  }
  bool Silent() {
    Collect();
    return sent.empty();
  }

  uint16_t ServerOf(const std::string& peer) const {
    return static_cast<uint16_t>(peer[std::string("tcp://host").size()] - '0');
  }
  void Reply(const Sent& to, const Status& status = {}, Message payload = {}) {
    const uint16_t server = ServerOf(to.peer);
    wire::Header request = to.header();
    request.boot_nonce = nonces[server];
    Deliver(to.peer, wire::MakeReply(request, Incarnation(server), status, std::move(payload)));
  }
  // Rows that are all `value`.
  void ReplyRows(const Sent& to, float value) {
    const size_t elements = size_t{to.header().count} * to.header().width;
    Reply(to, {}, {Frame::Own(std::vector<float>(elements, value))});
  }
  void Deliver(const std::string& peer, Message message) {
    core.Handle({peer, std::move(message)}, now);
  }

  // Answers HELLO, SHARD_MAP and LIST_TABLES of every server.
  void Connect() {
    core.Tick(now);
    for (int i = 0; i < 3; ++i) {
      Collect();
      for (const Sent& request : std::exchange(sent, {})) {
        Reply(request, {}, {GreetingReply(request)});
      }
    }
    ASSERT_TRUE(core.connected());
  }
  Frame GreetingReply(const Sent& request) const {
    switch (request.header().command) {
      case wire::Command::kHello:
        return EncodeHelloReply(HelloOf(ServerOf(request.peer)));
      case wire::Command::kShardMap:
        return EncodeShardMap(map);
      default:
        return wire::EncodeTableDefinitions(
            std::vector<wire::TableDefinition>{ToWire(TestTable(1)), ToWire(TestTable(3)),
                                               ToWire(OtherTable()), ToWire(AppliedTable())});
    }
  }

  // Submits, and notes the outcome.
  std::shared_ptr<std::optional<Outcome>> Submit(Operation operation) {
    auto outcome = std::make_shared<std::optional<Outcome>>();
    core.Submit(
        std::move(operation), [outcome](Outcome o) { *outcome = std::move(o); }, now);
    return outcome;
  }
  void AdvanceTo(TimeNs t) {
    now = t;
    core.Tick(now);
  }

  wire::ShardMap map;
  std::vector<uint16_t> lanes;
  std::vector<uint64_t> lineages;
  std::vector<uint16_t> boots;
  std::vector<uint16_t> versions;  // the newest that each speaks
  std::vector<uint32_t> nonces;    // of the boots
  ClientCore core;
  TimeNs now = 0;
  std::deque<Sent> sent;
};

// An operation on one table with the spans it needs.
struct TestBatch {
  std::vector<Key> keys;
  std::vector<float> in, out;
  TableId table;

  TestBatch(std::vector<Key> keys_in, uint32_t dim)
      : keys(std::move(keys_in)),
        in(keys.size() * dim, 1.0F),
        out(keys.size() * dim),
        table(TestTable(dim).id()) {}
  Operation Make(OpKind kind) { return Make(kind, table); }
  Operation Make(OpKind kind, TableId id) {
    Operation operation;
    operation.kind = kind;
    TablePart part;
    part.table = id;
    part.keys = keys;
    if (kind == OpKind::kUpdate || kind == OpKind::kAssign) part.in = in;
    if (kind == OpKind::kLookup) part.out = out;
    operation.parts = {part};
    return operation;
  }
  Operation Sync(OpKind kind, uint64_t step) {
    Operation operation = Make(kind);
    operation.step = step;
    operation.sync = SyncGroup{.id = 3, .rank = 1, .world = 2, .first_step = 1};
    return operation;
  }
};

}  // namespace strata
