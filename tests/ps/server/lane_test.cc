// The lane message by message: every command, what is refused and how, and exactly-once writes.
#include "ps/service/lane.h"

#include <limits>
#include <random>

#include "proto/wire/command_table.h"
#include "proto/wire/existence.h"
#include "storage/memory/host_table.h"
#include "storage/memory/memory_budget.h"
#include "tests/ps/server/lane_fixture.h"

namespace strata {
namespace {

using wire::Command;

std::vector<float> RowsOf(const wire::Received& reply, uint32_t count, uint32_t dim) {
  EXPECT_TRUE(wire::StatusOfReply(reply).ok()) << wire::StatusOfReply(reply).ToString();
  EXPECT_EQ(reply.header.width, dim);
  return wire::ReadRows(reply.payload.at(0), count, dim).value();
}

std::vector<float> PullRows(TestLane& lane, TestClient& client, const TableSpec& spec,
                            const std::vector<uint64_t>& keys) {
  const auto count = static_cast<uint32_t>(keys.size());
  const wire::Received reply =
      lane.Ask(client.Read(Command::kPull, IdOf(spec), count), {Keys(keys)});
  return RowsOf(reply, count, spec.dim);
}

bool Contains(const Status& status, std::string_view text) {
  return status.message().find(text) != std::string::npos;
}

TEST(Lane, HelloPingAndShardMapAnswer) {
  TestLane lane(TestLaneConfig(4, 2));
  TestClient client;
  const wire::Received hello =
      lane.Ask(client.Read(Command::kHello), {wire::EncodeHelloRequest({.client_name = "x"})});
  EXPECT_EQ(wire::DecodeHelloReply(hello.payload.at(0).bytes())->incarnation, kTestIncarnation);
  const wire::Received map = lane.Ask(client.Read(Command::kShardMap));
  EXPECT_EQ(wire::DecodeShardMap(map.payload.at(0).bytes())->lanes.size(), 4U);
  EXPECT_TRUE(lane.AskStatus(client.Read(Command::kPing)).ok());
  const Status old = lane.AskStatus(
      client.Read(Command::kHello),
      {wire::EncodeHelloRequest({.version_min = 77, .version_max = 78, .client_name = "new"})});
  EXPECT_EQ(old.code(), StatusCode::kRefused);
  EXPECT_TRUE(Contains(old, "77 to 78")) << old.ToString();
}

// Older clients take no second frame, and not every system has other endpoints.
TEST(Lane, HelloTellsOtherEndpointsToWhoAsks) {
  const Message payload = {wire::EncodeHelloRequest({.client_name = "x"})};
  for (const bool offered : {true, false}) {
    LaneConfig config = TestLaneConfig();
    if (offered) config.hello.lane_endpoints = {"shm://strata-1"};
    TestLane lane(std::move(config));
    TestClient client;
    wire::Header header = client.Read(Command::kHello);
    EXPECT_EQ(lane.Ask(header, payload).payload.size(), 1U);
    header = client.Read(Command::kHello);
    header.flags = wire::kFlagFull;
    const wire::Received hello = lane.Ask(header, payload);
    ASSERT_EQ(hello.payload.size(), offered ? 2U : 1U);
    if (!offered) continue;
    EXPECT_EQ(wire::DecodeLaneEndpoints(hello.payload[1], 1).value(),
              std::vector<std::string>{"shm://strata-1"});
  }
}

TEST(Lane, TablesAreMadeListedAndDropped) {
  TestLane lane;
  TestClient client;
  TableSpec spec = TestSpec("b", 3);
  CreateTable(lane, client, spec);
  CreateTable(lane, client, TestSpec("a", 1));
  CreateTable(lane, client, spec);  // the same again is fine
  const wire::Received listed = lane.Ask(client.Read(Command::kListTables));
  const auto definitions = wire::DecodeTableDefinitions(listed.payload.at(0).bytes()).value();
  ASSERT_EQ(definitions.size(), 2U);
  EXPECT_EQ(definitions[0].name, "a");
  EXPECT_EQ(FromWire(definitions[1]).value(), spec);

  TableSpec other = spec;
  other.dim = 4;
  const Status exists = lane.AskStatus(client.Write(Command::kCreateTable), {Definition(other)});
  EXPECT_EQ(exists.code(), StatusCode::kExists);
  other.name = "bad name!";
  EXPECT_EQ(lane.AskStatus(client.Write(Command::kCreateTable), {Definition(other)}).code(),
            StatusCode::kInvalid);
  EXPECT_EQ(lane.AskStatus(client.Write(Command::kCreateTable), {Frame()}).code(),
            StatusCode::kInvalid);

  EXPECT_TRUE(lane.AskStatus(client.Write(Command::kDropTable, IdOf(spec))).ok());
  EXPECT_EQ(lane.AskStatus(client.Write(Command::kDropTable, IdOf(spec))).code(),
            StatusCode::kNotFound);
  EXPECT_EQ(lane.AskStatus(client.Read(Command::kPull, IdOf(spec), 0), {Keys({})}).code(),
            StatusCode::kNotFound);
}

TEST(Lane, APullWithFullSaysWhichKeysHaveARow) {
  TestLane lane;
  TestClient client;
  const TableSpec spec = TestSpec();
  CreateTable(lane, client, spec);
  ASSERT_TRUE(lane.AskStatus(client.Write(Command::kPut, IdOf(spec), 2, 2),
                             {Keys({7, 9}), Rows({1, 2, 0, 0})})
                  .ok());
  wire::Header pull = client.Read(Command::kPull, IdOf(spec), 5);
  pull.flags |= wire::kFlagFull;
  const wire::Received reply = lane.Ask(pull, {Keys({8, 7, 9, 7, 1})});
  ASSERT_EQ(reply.payload.size(), 2U);
  EXPECT_EQ(wire::ReadRows(reply.payload[0], 5, 2).value(),
            (std::vector<float>{0, 0, 1, 2, 0, 0, 1, 2, 0, 0}));
  const auto existence = reply.payload[1].bytes();
  EXPECT_EQ(std::vector<std::byte>(existence.begin(), existence.end()),
            (std::vector{std::byte{0}, std::byte{1}, std::byte{1}, std::byte{1}, std::byte{0}}));
}

TEST(Lane, APullWithFullOfMoreKeysThanALaneFindsOneByOneIsInvalid) {
  TestLane lane;
  TestClient client;
  const TableSpec spec = TestSpec();
  CreateTable(lane, client, spec);
  const auto pull = [&](uint32_t keys, uint32_t flags) {
    wire::Header header = client.Read(Command::kPull, IdOf(spec), keys);
    header.flags |= flags;
    return lane.AskStatus(header, {Keys(std::vector<uint64_t>(keys, 5))});
  };
  EXPECT_TRUE(pull(wire::kExistenceKeysMax, wire::kFlagFull).ok());
  EXPECT_TRUE(pull(wire::kExistenceKeysMax + 1, 0).ok());
  const Status status = pull(wire::kExistenceKeysMax + 1, wire::kFlagFull);
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_NE(status.message().find("at most 1024 keys, found 1025"), std::string::npos)
      << status.message();
}

TEST(Lane, PushPutEraseAndPull) {
  TestLane lane;
  TestClient client;
  const TableSpec spec = TestSpec();  // SGD, rate 1, rows begin at zero
  CreateTable(lane, client, spec);
  EXPECT_EQ(PullRows(lane, client, spec, {7}), (std::vector<float>{0, 0}));
  // Key 7 comes twice: its gradients are summed, then the rule runs once.
  ASSERT_TRUE(lane.AskStatus(client.Write(Command::kPush, IdOf(spec), 3, 2),
                             {Keys({7, 9, 7}), Rows({1, 2, 10, 20, 3, 4})})
                  .ok());
  EXPECT_EQ(PullRows(lane, client, spec, {9, 7, 9, 1}),
            (std::vector<float>{-10, -20, -4, -6, -10, -20, 0, 0}));
  ASSERT_TRUE(lane.AskStatus(client.Write(Command::kPut, IdOf(spec), 1, 2),
                             {Keys({~uint64_t{0}}), Rows({5, 6})})
                  .ok());
  EXPECT_EQ(PullRows(lane, client, spec, {~uint64_t{0}}), (std::vector<float>{5, 6}));
  wire::Header erase = client.Write(Command::kErase, IdOf(spec), 3);
  erase.flags |= wire::kFlagFull;
  const wire::Received erased = lane.Ask(erase, {Keys({7, 12345, 7})});
  ASSERT_TRUE(wire::StatusOfReply(erased).ok());
  ASSERT_EQ(erased.payload.size(), 1U);
  EXPECT_EQ(wire::ReadKeys(erased.payload[0], 1).value(), std::vector<uint64_t>{1});
  // Nobody remembers how many there were.
  const wire::Received again = lane.Ask(erase, {Keys({7, 12345, 7})});
  EXPECT_TRUE(wire::StatusOfReply(again).ok());
  EXPECT_TRUE(again.payload.empty());
  const wire::Received unasked =
      lane.Ask(client.Write(Command::kErase, IdOf(spec), 1), {Keys({7})});
  EXPECT_TRUE(wire::StatusOfReply(unasked).ok());
  EXPECT_TRUE(unasked.payload.empty());
  EXPECT_EQ(PullRows(lane, client, spec, {7}), (std::vector<float>{0, 0}));
  const wire::Received reply = lane.Ask(client.Read(Command::kStats, IdOf(spec)));
  const wire::StatsReply stats = wire::DecodeStats(reply.payload.at(0).bytes()).value();
  EXPECT_EQ(stats.rows, 2U);
  EXPECT_EQ(stats.updates, 3U);
  EXPECT_EQ(stats.steps, 1U);
}

// Remembers what it was told.
class HintedTable final : public MapTable {
 public:
  HintedTable(const TableSpec& spec, std::vector<Key>* hints) : MapTable(spec), hints_(hints) {}
  bool Prefetch(std::span<const Key> keys) override {
    hints_->assign(keys.begin(), keys.end());
    return true;
  }

 private:
  std::vector<Key>* const hints_;
};

TEST(Lane, HintsReachTheTableAndTheReplySaysWhetherTheyAreOfUse) {
  std::vector<Key> hints;
  LaneConfig config = TestLaneConfig();
  config.make_table = [&hints](const TableSpec& spec) -> std::unique_ptr<LocalTable> {
    if (spec.name == "memory") return std::make_unique<MapTable>(spec);
    return std::make_unique<HintedTable>(spec, &hints);
  };
  TestLane lane(config);
  TestClient client;
  const TableSpec tiered = TestSpec("tiered", 1);
  const TableSpec memory = TestSpec("memory", 1);
  CreateTable(lane, client, tiered);
  CreateTable(lane, client, memory);
  const auto hint = [&](uint64_t name_hash) {
    return lane.Ask(client.Read(Command::kPrefetch, name_hash, 3), {Keys({5, 6, 5})});
  };
  const wire::Received useful = hint(IdOf(tiered));
  EXPECT_TRUE(wire::StatusOfReply(useful).ok());
  EXPECT_FALSE(useful.header.is(wire::kFlagDone));
  EXPECT_EQ(hints, (std::vector<Key>{5, 6, 5}));
  EXPECT_TRUE(hint(IdOf(memory)).header.is(wire::kFlagDone));
  EXPECT_EQ(wire::StatusOfReply(hint(77)).code(), StatusCode::kNotFound);
  EXPECT_EQ(
      lane.AskStatus(client.Read(Command::kPrefetch, IdOf(tiered), 2), {Keys({5, 6, 7})}).code(),
      StatusCode::kInvalid);
}

// Has counted something.
class CountedTable final : public MapTable {
 public:
  using MapTable::MapTable;
  TableStats Stats() const override {
    TableStats stats = MapTable::Stats();
    stats.rejected = 3;
    stats.not_admitted = 5;
    stats.passed_down = 7;
    return stats;
  }
  std::array<TierUse, kTiers> Tiers() const override {
    return {
        TierUse{.exists = true, .rows = 1, .bytes = 1, .hits = 11, .rows_in = 13, .bytes_in = 17},
        TierUse(), TierUse()};
  }
};

TEST(Lane, WhatTablesCountedIsCountedWhenTheyAreGone) {
  LaneConfig config = TestLaneConfig();
  config.make_table = [](const TableSpec& spec) { return std::make_unique<CountedTable>(spec); };
  TestLane lane(std::move(config));
  TestClient client;
  for (int time = 0; time < 2; ++time) {
    CreateTable(lane, client, TestSpec("t", 1));
    ASSERT_TRUE(lane.AskStatus(client.Write(Command::kDropTable, IdOf(TestSpec("t", 1)))).ok());
  }
  CreateTable(lane, client, TestSpec("t", 1));
  CreateTable(lane, client, TestSpec("other", 1));
  const LaneReport report = lane.lane.Report();
  ASSERT_EQ(report.tables.size(), 2U);
  EXPECT_EQ(report.tables[0].stats.passed_down, 7U);
  EXPECT_EQ(report.past.rejected, 6U);
  EXPECT_EQ(report.past.not_admitted, 10U);
  EXPECT_EQ(report.past.passed_down, (std::map<std::string, uint64_t>{{"t", 14}}));
  const TierUse& hot = report.past.tiers[0];
  EXPECT_EQ(hot.hits, 22U);
  EXPECT_EQ(hot.rows_in, 26U);
  EXPECT_EQ(hot.bytes_in, 34U);
  EXPECT_EQ(hot.rows + hot.bytes, 0U);
  // Two that are there, and two that are gone.
  EXPECT_NE(lane.registry.PrometheusText().find(
                "strata_lane_tier_hits_total{lane=\"0\",tier=\"hot\"} 44\n"),
            std::string::npos);
}

// Counts what it is asked.
class LargeLookupTable final : public MapTable {
 public:
  LargeLookupTable(const TableSpec& spec, std::vector<size_t>* lookups)
      : MapTable(spec), lookups_(lookups) {}
  bool PrefersLargeBatches() const override { return true; }
  Status Lookup(std::span<const Key> keys, std::span<float> out) override {
    lookups_->push_back(keys.size());
    return MapTable::Lookup(keys, out);
  }

 private:
  std::vector<size_t>* const lookups_;
};

TEST(Lane, PullsAreGatheredForATableThatPrefersLargeBatches) {
  std::vector<size_t> lookups;
  LaneConfig config = TestLaneConfig();
  config.make_table = [&](const TableSpec& spec) {
    return std::make_unique<LargeLookupTable>(spec, &lookups);
  };
  TestLane lane(std::move(config));
  TestClient client;
  const TableSpec spec = TestSpec();
  CreateTable(lane, client, spec);
  const auto pull = [&](std::vector<Key> keys) {
    const auto count = static_cast<uint32_t>(keys.size());
    const wire::Header header = client.Read(Command::kPull, IdOf(spec), count);
    return lane.Handle("peer", wire::Seal(header, {Keys(std::move(keys))}));
  };
  const auto commit = [&] {
    std::vector<Envelope> out;
    EXPECT_TRUE(lane.lane.Commit(&out).ok());
    return TestLane::Opened(std::move(out));
  };
  EXPECT_TRUE(pull({7, 8}).empty());
  EXPECT_TRUE(pull({}).empty());
  EXPECT_TRUE(pull({9}).empty());
  EXPECT_FALSE(lane.lane.Idle());
  // A write comes behind them: they see what was before it.
  const wire::Header put = client.Write(Command::kPut, IdOf(spec), 1, 2);
  const auto replies = lane.Handle("peer", wire::Seal(put, {Keys({7}), Rows({1, 2})}));
  ASSERT_EQ(replies.size(), 4U);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(replies[i].second.header.request_id, replies[0].second.header.request_id + i);
  }
  EXPECT_EQ(RowsOf(replies[0].second, 2, 2), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(RowsOf(replies[1].second, 0, 2), (std::vector<float>{}));
  EXPECT_EQ(RowsOf(replies[2].second, 1, 2), (std::vector<float>{0, 0}));
  EXPECT_EQ(lookups, (std::vector<size_t>{3}));
  EXPECT_TRUE(pull({8, 7}).empty());
  const auto last = commit();
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(RowsOf(last[0].second, 2, 2), (std::vector<float>{0, 0, 1, 2}));
  EXPECT_TRUE(lane.lane.Idle());
  EXPECT_TRUE(commit().empty());
}

TEST(Lane, AFiniteValueThatTheTypeOfATableCannotHoldIsRefused) {
  struct Case {
    ElementType type;
    float fits;
    float too_large;
    const char* expected;
  };
  for (const Case& one :
       {Case{ElementType::kFp16, 65504.0F, 70000.0F,
             "stores fp16: expected a value from -65504 to 65504;"},
        Case{ElementType::kBf16, 0x1.fep127F, std::numeric_limits<float>::max(),
             "stores bf16: expected a value from -3.3895314e+38 to 3.3895314e+38;"}}) {
    TestLane lane;
    TestClient client;
    TableSpec spec = TestSpec();
    spec.value_type = one.type;
    CreateTable(lane, client, spec);
    const auto put = [&](std::vector<float> values) {
      return lane.AskStatus(client.Write(Command::kPut, IdOf(spec), 2, 2),
                            {Keys({7, 8}), Rows(std::move(values))});
    };
    const std::vector<float> fit = {one.fits, -one.fits, 0, std::numeric_limits<float>::infinity()};
    ASSERT_TRUE(put(fit).ok());
    for (const float value : {one.too_large, -one.too_large}) {
      const Status refused = put({1, 2, 3, value});
      EXPECT_EQ(refused.code(), StatusCode::kInvalid);
      EXPECT_TRUE(Contains(refused, "of key 8: table 't'")) << refused.message();
      EXPECT_TRUE(Contains(refused, one.expected)) << refused.message();
    }
    EXPECT_EQ(PullRows(lane, client, spec, {7, 8}), fit);
  }
}

TEST(Lane, EmptyBatchesAreFine) {
  TestLane lane;
  TestClient client;
  const TableSpec spec = TestSpec();
  CreateTable(lane, client, spec);
  EXPECT_TRUE(PullRows(lane, client, spec, {}).empty());
  for (const Command command : {Command::kPush, Command::kPut}) {
    EXPECT_TRUE(lane.AskStatus(client.Write(command, IdOf(spec), 0, 2), {Keys({}), Rows({})}).ok());
  }
  EXPECT_TRUE(lane.AskStatus(client.Write(Command::kErase, IdOf(spec), 0), {Keys({})}).ok());
}

TEST(Lane, AScanBringsEveryRowInPages) {
  TestLane lane;
  TestClient client;
  TableSpec spec = TestSpec();
  spec.optimizer.kind = OptimizerKind::kAdam;
  CreateTable(lane, client, spec);
  std::vector<uint64_t> keys(1000);
  for (uint64_t i = 0; i < keys.size(); ++i) keys[i] = i * 0x9e3779b97f4a7c15;
  ASSERT_TRUE(lane.AskStatus(client.Write(Command::kPush, IdOf(spec), 1000, 2),
                             {Keys(keys), Rows(std::vector<float>(2000, 1.0F))})
                  .ok());
  for (const bool with_state : {false, true}) {
    std::map<uint64_t, float> found;
    wire::Header request = client.Read(Command::kScan, IdOf(spec), 64);
    if (with_state) request.flags |= wire::kFlagWithState;
    for (int page = 0; page < 100; ++page) {
      const wire::Received reply = lane.Ask(request);
      ASSERT_TRUE(wire::StatusOfReply(reply).ok());
      EXPECT_LE(reply.header.count, 64U);
      EXPECT_EQ(reply.header.width, with_state ? 6U : 2U);
      const auto page_keys = wire::ReadKeys(reply.payload.at(0), reply.header.count).value();
      const auto rows =
          wire::ReadRows(reply.payload.at(1), reply.header.count, reply.header.width).value();
      EXPECT_EQ(reply.payload.size(), with_state ? 3U : 2U);
      EXPECT_EQ(reply.payload.back().size(), reply.header.count * (with_state ? 16U : 8U));
      for (size_t i = 0; i < page_keys.size(); ++i) {
        EXPECT_TRUE(found.emplace(page_keys[i], rows[i * reply.header.width]).second);
      }
      request.cursor = reply.header.cursor;
      request.request_id = client.next_request++;
      if (reply.header.is(wire::kFlagDone)) break;
    }
    EXPECT_EQ(found.size(), keys.size());
    for (const uint64_t key : keys) EXPECT_TRUE(found.contains(key));
  }
}

TEST(Lane, ARepeatedWriteIsAnsweredAgainAndNotAppliedAgain) {
  TestLane lane;
  TestClient client;
  const TableSpec spec = TestSpec();
  CreateTable(lane, client, spec);
  wire::Header push = client.Write(Command::kPush, IdOf(spec), 1, 2);
  for (int i = 0; i < 5; ++i) {
    push.request_id = client.next_request++;
    EXPECT_TRUE(lane.AskStatus(push, {Keys({1}), Rows({1, 1})}).ok());
  }
  EXPECT_EQ(PullRows(lane, client, spec, {1}), (std::vector<float>{-1, -1}));
  EXPECT_EQ(lane.metrics.repeated.Value(), 4U);
  // A definite error is repeated too, even when the write would pass by now.
  const TableSpec later = TestSpec("later");
  wire::Header early = client.Write(Command::kPush, IdOf(later), 1, 2);
  EXPECT_EQ(lane.AskStatus(early, {Keys({1}), Rows({1, 1})}).code(), StatusCode::kNotFound);
  CreateTable(lane, client, later);
  EXPECT_EQ(lane.AskStatus(early, {Keys({1}), Rows({1, 1})}).code(), StatusCode::kNotFound);
  // Another client's same sequence is its own.
  TestClient other{.id = 2, .next_sequence = push.sequence};
  EXPECT_TRUE(
      lane.AskStatus(other.Write(Command::kPush, IdOf(spec), 1, 2), {Keys({1}), Rows({1, 1})})
          .ok());
  EXPECT_EQ(PullRows(lane, client, spec, {1}), (std::vector<float>{-2, -2}));
}

TEST(Lane, ARefusedWriteMayComeAgain) {
  TestLane lane;
  TestClient client;
  const TableSpec spec = TestSpec();
  CreateTable(lane, client, spec);
  wire::Header push = client.Write(Command::kPush, IdOf(spec), 1, 2);
  push.epoch = 9;
  EXPECT_EQ(lane.AskStatus(push, {Keys({1}), Rows({1, 1})}).code(), StatusCode::kRefused);
  push.epoch = 1;
  EXPECT_TRUE(lane.AskStatus(push, {Keys({1}), Rows({1, 1})}).ok());
  EXPECT_EQ(PullRows(lane, client, spec, {1}), (std::vector<float>{-1, -1}));
}

TEST(Lane, WritesWithoutRoomAreCounted) {
  MemoryBudget budget(0);
  LaneConfig config = TestLaneConfig();
  config.make_table = [&](const TableSpec& spec) {
    return std::make_unique<HostTable>(spec, &budget);
  };
  config.dedup.clients_max = 1;
  TestLane lane(config);
  TestClient client;
  const TableSpec spec = TestSpec();
  CreateTable(lane, client, spec);
  for (const Command command : {Command::kPush, Command::kPut}) {
    EXPECT_EQ(
        lane.AskStatus(client.Write(command, IdOf(spec), 1, 2), {Keys({1}), Rows({1, 1})}).code(),
        StatusCode::kRefused);
  }
  EXPECT_EQ(lane.metrics.RefusedFor(Refusal::kMemory).Value(), 2U);
  TestClient other{.id = 2};
  EXPECT_EQ(lane.AskStatus(other.Write(Command::kErase, IdOf(spec), 1), {Keys({1})}).code(),
            StatusCode::kRefused);
  EXPECT_EQ(lane.metrics.RefusedFor(Refusal::kClients).Value(), 1U);
  EXPECT_EQ(lane.metrics.ErrorsOf(StatusCode::kRefused).Value(), 3U);
}

TEST(Lane, RequestsForOthersAreRefusedByName) {
  TestLane lane(TestLaneConfig(2, 1));
  TestClient client;
  const TableSpec spec = TestSpec();
  CreateTable(lane, client, spec);
  uint64_t foreign = 0;
  while (wire::ShardOf(foreign) >= wire::kShards / 2) ++foreign;

  const Status not_mine =
      lane.AskStatus(client.Read(Command::kPull, IdOf(spec), 1), {Keys({foreign})});
  EXPECT_EQ(not_mine.code(), StatusCode::kRefused);
  EXPECT_TRUE(Contains(not_mine, "shard " + std::to_string(wire::ShardOf(foreign))));
  EXPECT_TRUE(Contains(not_mine, "epoch 1")) << not_mine.ToString();
  for (const Command command : {Command::kPush, Command::kPut}) {
    EXPECT_EQ(
        lane.AskStatus(client.Write(command, IdOf(spec), 1, 2), {Keys({foreign}), Rows({1, 1})})
            .code(),
        StatusCode::kRefused);
  }
  EXPECT_EQ(lane.AskStatus(client.Write(Command::kErase, IdOf(spec), 1), {Keys({foreign})}).code(),
            StatusCode::kRefused);
  EXPECT_EQ(lane.metrics.RefusedFor(Refusal::kMap).Value(), 4U);

  wire::Header header = client.Read(Command::kPing);
  header.cluster_id = 0xdead;
  const Status cluster = lane.AskStatus(header);
  EXPECT_EQ(cluster.code(), StatusCode::kRefused);
  EXPECT_TRUE(Contains(cluster, "000000000000dead")) << cluster.ToString();
  EXPECT_EQ(lane.metrics.RefusedFor(Refusal::kCluster).Value(), 1U);
  header = client.Read(Command::kPing);
  header.incarnation = 0x770001;
  const Status incarnation = lane.AskStatus(header);
  EXPECT_EQ(incarnation.code(), StatusCode::kLost);
  EXPECT_TRUE(Contains(incarnation, "restarted")) << incarnation.ToString();
  header.incarnation = kTestIncarnation;
  EXPECT_TRUE(lane.AskStatus(header).ok());
  header = client.Read(Command::kScan, IdOf(spec));
  header.epoch = 2;
  EXPECT_TRUE(Contains(lane.AskStatus(header), "epoch 2"));
  EXPECT_EQ(lane.metrics.RefusedFor(Refusal::kMap).Value(), 5U);
  EXPECT_EQ(lane.AskStatus(client.Read(Command::kControl), {Frame()}).code(), StatusCode::kRefused);
}

TEST(Lane, WritesThatMakeNoSenseAreRefused) {
  TestLane lane;
  TestClient client;
  const TableSpec spec = TestSpec();
  CreateTable(lane, client, spec);
  const Message one = {Keys({1}), Rows({1, 1})};
  const auto push = [&](auto change) {
    wire::Header header = client.Write(Command::kPush, IdOf(spec), 1, 2);
    change(header);
    return lane.AskStatus(header, one);
  };
  for (uint8_t ack = 1; ack <= 3; ++ack) {
    const Status status = push([&](wire::Header& h) { h.ack = ack; });
    EXPECT_EQ(status.code(), StatusCode::kRefused);
    EXPECT_TRUE(Contains(status, AckLevelName(static_cast<AckLevel>(ack)))) << status.ToString();
  }
  EXPECT_EQ(push([](auto& h) { h.ack = 99; }).code(), StatusCode::kInvalid);
  EXPECT_EQ(push([](auto& h) { h.sequence = 0; }).code(), StatusCode::kInvalid);
  EXPECT_EQ(push([](auto& h) { h.client_hi = h.client_lo = 0; }).code(), StatusCode::kInvalid);
  EXPECT_EQ(push([](auto& h) { h.step = 0; }).code(), StatusCode::kInvalid);
  EXPECT_EQ(push([](auto& h) { h.width = 3; }).code(), StatusCode::kInvalid);
  EXPECT_EQ(push([](auto& h) { h.count = 2; }).code(), StatusCode::kInvalid);
  EXPECT_EQ(push([](auto& h) { h.count = 0xffffffff; }).code(), StatusCode::kInvalid);
  wire::Header huge = client.Read(Command::kPull, IdOf(spec), 0xffffffff);
  EXPECT_EQ(lane.AskStatus(huge, {Keys({1})}).code(), StatusCode::kInvalid);
  wire::Header wide = client.Read(Command::kPull, IdOf(spec), 1);
  wide.width = 5;
  EXPECT_EQ(lane.AskStatus(wide, {Keys({1})}).code(), StatusCode::kInvalid);
  EXPECT_EQ(PullRows(lane, client, spec, {1}), (std::vector<float>{0, 0}));
}

TEST(Lane, DrainingRefusesWritesAndServesPulls) {
  TestLane lane;
  TestClient client;
  const TableSpec spec = TestSpec();
  CreateTable(lane, client, spec);
  wire::Header before = client.Write(Command::kPush, IdOf(spec), 1, 2);
  ASSERT_TRUE(lane.AskStatus(before, {Keys({1}), Rows({1, 1})}).ok());
  EXPECT_TRUE(lane.Drain().empty());
  const Message one = {Keys({1}), Rows({1, 1})};
  for (const wire::Header& header : {client.Write(Command::kPush, IdOf(spec), 1, 2),
                                     client.Write(Command::kPut, IdOf(spec), 1, 2)}) {
    const Status status = lane.AskStatus(header, one);
    EXPECT_EQ(status.code(), StatusCode::kRefused);
    EXPECT_TRUE(Contains(status, "draining")) << status.ToString();
  }
  EXPECT_TRUE(Contains(lane.AskStatus(client.Write(Command::kErase, IdOf(spec), 1), {Keys({1})}),
                       "draining"));
  EXPECT_TRUE(Contains(lane.AskStatus(client.Write(Command::kDropTable, IdOf(spec))), "draining"));
  EXPECT_TRUE(Contains(lane.AskStatus(client.Write(Command::kCreateTable), {Definition(spec)}),
                       "draining"));
  EXPECT_TRUE(lane.AskStatus(before, one).ok());  // a repeat of what was applied is answered
  EXPECT_EQ(PullRows(lane, client, spec, {1}), (std::vector<float>{-1, -1}));
  EXPECT_TRUE(lane.lane.Report().draining);
}

// Every truncation and every flipped bit of a valid push: an error reply each time, or, where the
// damage hides in what the reply does not need, nothing applied.
TEST(Lane, DamagedMessagesAreAnsweredAndChangeNothing) {
  TestLane lane;
  TestClient client;
  const TableSpec spec = TestSpec();
  CreateTable(lane, client, spec);
  const Message good = wire::Seal(client.Write(Command::kPush, IdOf(spec), 2, 2),
                                  {Keys({1, 2}), Rows({1, 2, 3, 4})});
  uint64_t damaged = 0;
  for (size_t f = 0; f < good.size(); ++f) {
    const std::vector<std::byte> bytes(good[f].bytes().begin(), good[f].bytes().end());
    for (size_t size = 0; size < bytes.size(); ++size) {
      Message cut = good;
      cut[f] = Frame::Copy(std::span(bytes).first(size));
      const auto replies = lane.Handle("peer", cut);
      ASSERT_EQ(replies.size(), 1U);
      EXPECT_FALSE(wire::StatusOfReply(replies[0].second).ok());
      ++damaged;
    }
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::vector<std::byte> flipped = bytes;
      flipped[bit / 8] ^= std::byte{1} << (bit % 8);
      Message message = good;
      message[f] = Frame::Own(std::move(flipped));
      const auto replies = lane.Handle("peer", message);
      ASSERT_EQ(replies.size(), 1U);
      EXPECT_FALSE(wire::StatusOfReply(replies[0].second).ok()) << "frame " << f << " bit " << bit;
      ++damaged;
    }
  }
  for (size_t frames = 0; frames < 10; ++frames) {
    Message message = good;
    message.resize(frames, Keys({3}));
    if (frames == good.size()) continue;
    EXPECT_EQ(lane.Handle("peer", message).size(), 1U);
    ++damaged;
  }
  EXPECT_EQ(lane.metrics.malformed.Value(), damaged);
  EXPECT_EQ(PullRows(lane, client, spec, {1, 2}), (std::vector<float>{0, 0, 0, 0}));
}

TEST(Lane, RandomBytesAreAnsweredNeverFatal) {
  TestLane lane;
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    Message message(random() % 5);
    for (Frame& frame : message) {
      std::vector<std::byte> bytes(random() % 2 == 0 ? wire::kHeaderBytes : random() % 300);
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
      frame = Frame::Own(std::move(bytes));
    }
    EXPECT_EQ(lane.Handle("peer", std::move(message)).size(), 1U);
  }
}

// Headers that are well formed and mean nothing: each field takes extreme values.
TEST(Lane, ExtremeHeadersAreAnsweredNeverFatal) {
  TestLane lane;
  TestClient client;
  CreateTable(lane, client, TestSpec());
  std::mt19937_64 random(4);
  const auto extreme = [&]() -> uint64_t {
    switch (random() % 5) {
      case 0:
        return 0;
      case 1:
        return 1;
      case 2:
        return random() % 8;
      case 3:
        return ~uint64_t{0};
      default:
        return random();
    }
  };
  for (int i = 0; i < 20'000; ++i) {
    const wire::CommandInfo& info = wire::CommandTable()[random() % wire::CommandTable().size()];
    wire::Header header = client.Read(info.command, random() % 4 ? IdOf(TestSpec()) : 1);
    header.flags = static_cast<uint32_t>(random() % 8) & ~uint32_t{wire::kFlagReply};
    header.sequence = extreme();
    header.settled_below = random() % 100 ? 0 : extreme();
    header.step = extreme();
    header.first_step = extreme();
    header.cursor = extreme();
    header.count = static_cast<uint32_t>(extreme());
    header.width = random() % 2 ? 2 : static_cast<uint32_t>(extreme());
    header.timeout_ms = static_cast<uint32_t>(extreme());
    header.group = static_cast<uint32_t>(extreme());
    header.rank = static_cast<uint16_t>(extreme());
    header.world = static_cast<uint16_t>(extreme());
    Message payload;
    for (int f = 0; f < info.request_frames_min; ++f) {
      payload.push_back(f == 0 ? Keys({1, 2}) : Rows({1, 2, 3, 4}));
    }
    if (random() % 2) header.count = 2;
    lane.Handle("peer", wire::Seal(header, std::move(payload)));
  }
  lane.now += 3600 * kSecond;
  lane.Tick();
  EXPECT_TRUE(lane.lane.Idle());
  EXPECT_TRUE(lane.AskStatus(client.Read(Command::kPing)).ok());
}

TEST(Lane, RepliesAreNotAnswered) {
  TestLane lane;
  TestClient client;
  EXPECT_TRUE(lane.Handle("peer", wire::MakeReply(client.Read(Command::kPing), 1, {}, {})).empty());
  EXPECT_TRUE(lane.Handle("peer", wire::MakeReply(client.Read(Command::kPing), 1, Failed("x"), {}))
                  .empty());
  EXPECT_EQ(lane.metrics.malformed.Value(), 2U);
}

TEST(Lane, AnUnknownVersionIsAnsweredWithBothRanges) {
  TestLane lane;
  TestClient client;
  wire::Header header = client.Read(Command::kPing);
  header.version = wire::kVersionMin - 1;
  const wire::Received reply = lane.Ask(header);
  EXPECT_EQ(wire::StatusOfReply(reply).code(), StatusCode::kRefused);
  EXPECT_TRUE(Contains(wire::StatusOfReply(reply), "version 0"));
}

}  // namespace
}  // namespace strata
