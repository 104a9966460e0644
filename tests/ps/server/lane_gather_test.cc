// Pushes of a table that prefers large batches: gathered, and applied together.
#include "ps/shard/lane_record.h"
#include "tests/ps/server/durable_lane.h"
#include "tests/ps/server/lane_traffic.h"

namespace strata {
namespace {

using wire::Command;

// Counts the updates that it gets together. 0: it refuses them.
class LargeBatchTable final : public MapTable {
 public:
  LargeBatchTable(const TableSpec& spec, size_t together_max, std::vector<size_t>* together)
      : MapTable(spec), together_max_(together_max), together_(together) {}
  bool PrefersLargeBatches() const override { return true; }
  Status PrepareUpdates(std::span<const GradientPart> updates) override {
    if (updates.size() > together_max_) return Refused("a test's table has no room");
    updates_.assign(updates.begin(), updates.end());
    return {};
  }
  void CommitUpdates(std::span<const uint64_t> steps) override {
    together_->push_back(steps.size());
    for (size_t i = 0; i < steps.size(); ++i) {
      EXPECT_TRUE(ApplyGradients({&updates_[i], 1}, steps[i]).ok());
    }
  }

 private:
  const size_t together_max_;
  std::vector<size_t>* const together_;
  std::vector<GradientPart> updates_;
};

// A lane with a log and such tables.
struct GatheringLane : DurableLane {
  std::vector<size_t> together;
  TestClient client;
  const TableSpec spec = TestSpec("t", 1);

  explicit GatheringLane(size_t together_max = 64) : DurableLane(Config(this, together_max)) {}
  static LaneConfig Config(GatheringLane* lane, size_t together_max) {
    LaneConfig config = DurableConfig();
    config.make_table = [=](const TableSpec& spec) {
      return std::make_unique<LargeBatchTable>(spec, together_max, &lane->together);
    };
    return config;
  }
  void Create() {
    ASSERT_TRUE(AskStatus(client.Write(Command::kCreateTable), {Definition(spec)}).ok());
  }
  wire::Header PushHeader() { return client.Write(Command::kPush, IdOf(spec), 1, 1); }
  auto Push(const wire::Header& header, float gradient = 1.0F) {
    return lane.Handle("peer", wire::Seal(header, {Keys({7}), Rows({gradient})}));
  }
  float Value() {
    const wire::Received reply = Ask(client.Read(Command::kPull, IdOf(spec), 1), {Keys({7})});
    return wire::ReadRows(reply.payload.at(0), 1, 1).value().at(0);
  }
  // Of the log's record, counted from its end.
  wire::Header Logged(size_t from_end) const {
    return DecodeWrites(log->records.at(log->records.size() - from_end).body)->at(0).header;
  }
};

TEST(LaneGather, PushesOfARoundAreAppliedTogetherAndLoggedOneByOne) {
  GatheringLane lane;
  lane.Create();
  const size_t records = lane.log->records.size();
  std::vector<wire::Header> sent;
  for (int i = 0; i < 3; ++i) {
    sent.push_back(lane.PushHeader());
    EXPECT_TRUE(lane.Push(sent.back()).empty());
  }
  EXPECT_FALSE(lane.lane.lane.Idle());
  EXPECT_EQ(lane.log->records.size(), records);
  const auto replies = lane.Commit();
  ASSERT_EQ(replies.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(wire::StatusOfReply(replies[i].second).ok());
    EXPECT_EQ(replies[i].second.header.request_id, sent[i].request_id);
    EXPECT_EQ(lane.Logged(3 - i).sequence, sent[i].sequence);
  }
  EXPECT_EQ(lane.log->records.size(), records + 3);
  EXPECT_EQ(lane.together, (std::vector<size_t>{3}));
  EXPECT_EQ(lane.Value(), -3.0F);
  EXPECT_TRUE(lane.lane.lane.Idle());
}

TEST(LaneGather, ARecordIsTheRequestVerbatim) {
  GatheringLane lane;
  lane.Create();
  const Message sealed = wire::Seal(lane.PushHeader(), {Keys({7}), Rows({2.5F})});
  std::vector<std::byte> bytes;
  for (const Frame& frame : sealed) {
    bytes.insert(bytes.end(), frame.bytes().begin(), frame.bytes().end());
  }
  lane.lane.Handle("peer", sealed);
  lane.Commit();
  EXPECT_EQ(lane.log->records.back().body, bytes);
}

// A write that came again before its first attempt was applied, and one behind that.
TEST(LaneGather, ARepeatIsAnsweredAndNotAppliedAgain) {
  GatheringLane lane;
  lane.Create();
  const wire::Header header = lane.PushHeader();
  EXPECT_TRUE(lane.Push(header).empty());
  EXPECT_TRUE(lane.Push(lane.PushHeader()).empty());
  wire::Header again = header;
  again.request_id += 100;
  EXPECT_TRUE(lane.Push(again).empty());
  EXPECT_EQ(lane.Commit().size(), 3U);
  EXPECT_EQ(lane.Value(), -2.0F);
  EXPECT_EQ(lane.Push(again).size(), 1U);
  EXPECT_TRUE(lane.Commit().empty());
  EXPECT_EQ(lane.Value(), -2.0F);
}

TEST(LaneGather, WhateverElseComesFindsThemApplied) {
  GatheringLane lane;
  lane.Create();
  const auto cut = [&](wire::Header header) {
    header.cut = lane.lane.lane.Report().cut + 1;
    return header;
  };
  float value = 0;
  const std::vector<std::pair<wire::Header, Message>> others = {
      {lane.client.Read(Command::kPing), {}},
      {lane.client.Write(Command::kErase, IdOf(lane.spec), 1), {Keys({8})}},
      {lane.client.Write(Command::kPushPull, IdOf(lane.spec), 1, 1),
       {Keys({8}), Rows({1.0F}), Keys({7})}},
      {TestClient::Sync(lane.PushHeader(), {.id = 3, .rank = 0, .world = 1}, 1),
       {Keys({8}), Rows({1.0F})}},
      {cut(lane.PushHeader()), {Keys({8}), Rows({1.0F})}}};
  for (const auto& [header, payload] : others) {
    const size_t before = lane.together.size();
    EXPECT_TRUE(lane.Push(lane.PushHeader()).empty());
    EXPECT_TRUE(lane.Push(lane.PushHeader()).empty());
    lane.lane.Handle("peer", wire::Seal(header, payload));
    EXPECT_EQ(lane.together.size(), before + 1) << static_cast<int>(header.command);
    lane.Commit();
    value -= 2;
    EXPECT_EQ(lane.Value(), value);
  }
  EXPECT_EQ(lane.lane.lane.Report().cut, 1U);
}

TEST(LaneGather, NoMoreThanATableTakesTogether) {
  GatheringLane lane;
  lane.Create();
  for (size_t i = 0; i < LocalTable::kUpdatesMax + 2; ++i) lane.Push(lane.PushHeader());
  EXPECT_EQ(lane.Commit().size(), 2U);
  EXPECT_EQ(lane.together, (std::vector<size_t>{LocalTable::kUpdatesMax, 2}));
}

TEST(LaneGather, WhatTheTableDoesNotTakeTogetherComesOneByOne) {
  GatheringLane lane(/*together_max=*/2);
  lane.Create();
  for (int i = 0; i < 3; ++i) lane.Push(lane.PushHeader());
  EXPECT_EQ(lane.Commit().size(), 3U);
  EXPECT_TRUE(lane.together.empty());
  EXPECT_EQ(lane.Value(), -3.0F);
}

// Those that were logged are applied, the others are not, and may come again.
TEST(LaneGather, ALogThatFillsUpBetweenThem) {
  GatheringLane lane;
  lane.Create();
  std::vector<wire::Header> sent;
  for (int i = 0; i < 4; ++i) {
    sent.push_back(lane.PushHeader());
    lane.Push(sent.back());
  }
  lane.log->appends_until_full = 2;
  const auto replies = lane.Commit();
  ASSERT_EQ(replies.size(), 4U);
  for (const auto& [peer, reply] : replies) {
    const bool is_first = reply.header.request_id <= sent[1].request_id;
    EXPECT_EQ(wire::StatusOfReply(reply).code(),
              is_first ? StatusCode::kOk : StatusCode::kDiskFull);
  }
  EXPECT_EQ(lane.together, (std::vector<size_t>{2}));
  EXPECT_EQ(lane.Value(), -2.0F);
  EXPECT_EQ(lane.lane.lane.no_room().code(), StatusCode::kDiskFull);
  lane.log->appends_until_full = -1;
  for (const wire::Header& header : sent) lane.Push(header);
  EXPECT_EQ(lane.Commit().size(), 2U);  // the first two were answered at once
  EXPECT_EQ(lane.Value(), -4.0F);
}

// In rounds of any length: the same rows, the same answers, and a log that brings them back.
TEST(LaneGather, ALaneThatGathersIsTheLaneThatDoesNot) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    GatheringLane gathers;
    DurableLane plain;
    Traffic traffic(seed, true);
    std::mt19937_64 random(seed);
    std::vector<Traffic::Sent> sent;
    for (int i = 0; i < 200; ++i) {
      sent.push_back(traffic.Next());
      sent.back().header.settled_below = 1;  // so that all may come again
      plain.lane.Handle("peer", wire::Seal(sent.back().header, sent.back().payload));
      plain.Commit();
      gathers.lane.Handle("peer", wire::Seal(sent.back().header, sent.back().payload));
      if (random() % 6 == 0) gathers.Commit();
    }
    gathers.Commit();
    const auto rows_of = [](TestLane& lane) {
      return AllRows([&](const auto& header) { return lane.Ask(header); }, {.id = 99});
    };
    EXPECT_FALSE(gathers.together.empty());
    EXPECT_EQ(rows_of(gathers.lane), rows_of(plain.lane));
    TestLane back(DurableConfig());
    ASSERT_TRUE(RecoverFrom(back, gathers.log, gathers.log->records.size()).ok());
    EXPECT_EQ(rows_of(back), rows_of(plain.lane));
    EXPECT_EQ(AnswersOf(back, sent), AnswersOf(plain.lane, sent));
  }
}

}  // namespace
}  // namespace strata
