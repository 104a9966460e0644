// The lane and its log: what is logged, when replies leave, and what a full or failing log does.
#include "ps/service/lane.h"
#include "ps/shard/lane_record.h"
#include "tests/ps/server/durable_lane.h"

namespace strata {
namespace {

using wire::Command;

wire::Header PutHeader(TestClient& client, const TableSpec& spec, AckLevel ack) {
  wire::Header header = client.Write(Command::kPut, IdOf(spec), 1, spec.dim);
  header.ack = static_cast<uint8_t>(ack);
  return header;
}

Message OneRow(float value = 1) { return {Keys({7}), Rows({value, value})}; }

// A table, made and synced.
struct Table {
  DurableLane lane;
  TestClient client;
  TableSpec spec;

  explicit Table(AckLevel ack = AckLevel::kDefault, LaneConfig config = DurableConfig())
      : lane(std::move(config)) {
    spec = TestSpec();
    spec.ack = ack;
    EXPECT_TRUE(lane.AskStatus(client.Write(Command::kCreateTable), {Definition(spec)}).ok());
    lane.log->synced = lane.log->written;
  }
  auto Send(const wire::Header& header, Message payload) {
    return lane.lane.Handle("peer", wire::Seal(header, std::move(payload)));
  }
  float Value() {
    const wire::Received reply = lane.Ask(client.Read(Command::kPull, IdOf(spec), 1), {Keys({7})});
    return wire::ReadRows(reply.payload.at(0), 1, 2).value()[0];
  }
};

TEST(LaneLog, NoReplyBeforeItsRecordIsWhereItsLevelWantsIt) {
  for (const AckLevel level :
       {AckLevel::kApplied, AckLevel::kLogged, AckLevel::kSynced, AckLevel::kDefault}) {
    Table table;
    const auto now = table.Send(PutHeader(table.client, table.spec, level), OneRow());
    EXPECT_EQ(now.size(), level == AckLevel::kApplied ? 1U : 0U) << AckLevelName(level);
    const auto committed = table.lane.Commit();
    const bool by_write = level == AckLevel::kLogged || level == AckLevel::kDefault;
    EXPECT_EQ(committed.size(), by_write ? 1U : 0U) << AckLevelName(level);
    EXPECT_EQ(table.lane.lane.lane.WaitsForSync(), level == AckLevel::kSynced);
    EXPECT_TRUE(table.lane.Commit().empty());
    ASSERT_TRUE(table.lane.lane.lane.log()->Sync().ok());
    EXPECT_EQ(table.lane.Commit().size(), level == AckLevel::kSynced ? 1U : 0U);
    EXPECT_EQ(table.Value(), 1.0F);
  }
}

TEST(LaneLog, WritesThatWaitForTheDiskAreBounded) {
  LaneConfig config = DurableConfig();
  config.queue_bytes_max = 16 << 10;
  Table table(AckLevel::kSynced, config);
  size_t waiting = 0;
  Status last;
  for (; last.ok() && waiting < 1000; ++waiting) {
    auto replies = table.Send(PutHeader(table.client, table.spec, AckLevel::kSynced), OneRow());
    for (auto& reply : table.lane.Commit()) replies.push_back(std::move(reply));
    if (!replies.empty()) last = wire::StatusOfReply(replies[0].second);
  }
  EXPECT_EQ(last.code(), StatusCode::kUnavailable) << last.ToString();
  EXPECT_LT(waiting, 20U);
  ASSERT_TRUE(table.lane.lane.lane.log()->Sync().ok());
  EXPECT_EQ(table.lane.Commit().size(), waiting - 1);
  EXPECT_TRUE(table.Send(PutHeader(table.client, table.spec, AckLevel::kSynced), OneRow()).empty());
}

TEST(LaneLog, WhoLooksAtAnIdleLaneSeesWhatIsSyncedSince) {
  Table table;
  TestLane& lane = table.lane.lane;
  table.Send(PutHeader(table.client, table.spec, AckLevel::kLogged), OneRow());
  table.lane.Commit();
  EXPECT_EQ(lane.metrics.log_synced.Value(), 1.0);
  ASSERT_TRUE(lane.lane.log()->Sync().ok());
  EXPECT_EQ(lane.lane.Report().log_synced, 2U);
  EXPECT_EQ(lane.metrics.log_synced.Value(), 2.0);
  EXPECT_EQ(lane.metrics.log_appended.Value(), 2.0);
}

TEST(LaneLog, TheTablesLevelHoldsForRequestsThatNameNone) {
  Table table(AckLevel::kSynced);
  const wire::Header header = PutHeader(table.client, table.spec, AckLevel::kDefault);
  EXPECT_TRUE(table.Send(header, OneRow()).empty());
  EXPECT_TRUE(table.lane.Commit().empty());
  // A repeat waits for the record of the first, and no longer.
  EXPECT_TRUE(table.Send(header, OneRow()).empty());
  EXPECT_EQ(table.lane.log->records.size(), 2U);
  ASSERT_TRUE(table.lane.lane.lane.log()->Sync().ok());
  EXPECT_EQ(table.lane.Commit().size(), 2U);
  EXPECT_EQ(table.Send(header, OneRow()).size(), 1U);
}

TEST(LaneLog, APushPullIsLoggedAsItsPushAndItsRowsWaitForTheLog) {
  for (const bool sync : {false, true}) {
    Table table;
    wire::Header header = table.client.Write(Command::kPushPull, IdOf(table.spec), 1, 2);
    if (sync) header = TestClient::Sync(header, {.id = 3, .rank = 0, .world = 1}, 1);
    header.ack = static_cast<uint8_t>(AckLevel::kLogged);
    const Message payload = {Keys({7}), Rows({1, 2}), Keys({7, 9})};
    EXPECT_TRUE(table.Send(header, payload).empty());
    const auto committed = table.lane.Commit();
    ASSERT_EQ(committed.size(), 1U);
    EXPECT_EQ(wire::ReadRows(committed[0].second.payload.at(0), 2, 2).value(),
              (std::vector<float>{-1, -2, 0, 0}));
    const auto logged = DecodeWrites(table.lane.log->records.back().body);
    ASSERT_TRUE(logged.ok()) << logged.status().ToString();
    EXPECT_EQ((*logged)[0].header.command, Command::kPush);
    // Another life knows it, and answers a repeat with rows.
    TestLane next(DurableConfig());
    ASSERT_TRUE(RecoverFrom(next, table.lane.log, table.lane.log->records.size()).ok());
    const wire::Received again = next.Ask(header, payload);
    EXPECT_EQ(wire::ReadRows(again.payload.at(0), 2, 2).value(),
              (std::vector<float>{-1, -2, 0, 0}));
  }
}

TEST(LaneLog, OneWriteForAllThatARoundBrought) {
  Table table;
  const int before = table.lane.log->writes;
  for (int i = 0; i < 10; ++i) {
    table.Send(PutHeader(table.client, table.spec, AckLevel::kLogged), OneRow());
  }
  EXPECT_EQ(table.lane.Commit().size(), 10U);
  EXPECT_EQ(table.lane.log->writes, before + 1);
  EXPECT_TRUE(table.lane.Commit().empty());
  EXPECT_EQ(table.lane.log->writes, before + 1);  // nothing new: no write
}

TEST(LaneLog, TheRecordIsTheRequestVerbatim) {
  Table table;
  wire::Header header = PutHeader(table.client, table.spec, AckLevel::kLogged);
  const Message sealed = wire::Seal(header, OneRow(3));
  std::vector<std::byte> bytes;
  for (const Frame& frame : sealed) {
    bytes.insert(bytes.end(), frame.bytes().begin(), frame.bytes().end());
  }
  table.lane.lane.Handle("peer", sealed);
  EXPECT_EQ(table.lane.log->records.back().kind, RecordKind::kWrites);
  EXPECT_EQ(table.lane.log->records.back().body, bytes);
}

TEST(LaneLog, ReadsAndWhatIsRefusedForNowAreNotLogged) {
  Table table;
  const size_t before = table.lane.log->records.size();
  table.Value();
  wire::Header late = PutHeader(table.client, table.spec, AckLevel::kReplicated);
  const Status refused = table.lane.AskStatus(late, OneRow());
  EXPECT_EQ(refused.code(), StatusCode::kRefused);
  EXPECT_NE(refused.message().find("replicated"), std::string::npos);
  EXPECT_EQ(table.lane.log->records.size(), before);
}

TEST(LaneLog, ADefiniteRefusalIsLoggedBeforeItIsSaid) {
  Table table;
  wire::Header header = table.client.Write(Command::kErase, 12345, 1);
  header.ack = static_cast<uint8_t>(AckLevel::kSynced);
  EXPECT_TRUE(table.Send(header, {Keys({1})}).empty());
  EXPECT_EQ(table.lane.log->records.back().kind, RecordKind::kAnswer);
  const LoggedAnswer answer = DecodeAnswer(table.lane.log->records.back().body).value();
  EXPECT_EQ(answer.header.sequence, header.sequence);
  EXPECT_EQ(answer.answer.code(), StatusCode::kNotFound);
  table.lane.Commit();
  ASSERT_TRUE(table.lane.lane.lane.log()->Sync().ok());
  EXPECT_EQ(table.lane.Commit().size(), 1U);
}

TEST(LaneLog, AFullDiskIsAnsweredAndChangesNothing) {
  Table table;
  table.lane.log->appends_until_full = 0;
  const wire::Header header = PutHeader(table.client, table.spec, AckLevel::kLogged);
  EXPECT_EQ(table.lane.AskStatus(header, OneRow(5)).code(), StatusCode::kDiskFull);
  const wire::Header unknown = table.client.Write(Command::kErase, 12345, 1);
  EXPECT_EQ(table.lane.AskStatus(unknown, {Keys({1})}).code(), StatusCode::kDiskFull);
  EXPECT_EQ(table.lane.AskStatus(table.client.Write(Command::kDropTable, IdOf(table.spec))).code(),
            StatusCode::kDiskFull);
  EXPECT_EQ(table.Value(), 0.0F);
  Lane& lane = table.lane.lane.lane;
  EXPECT_EQ(lane.no_room().code(), StatusCode::kDiskFull);
  EXPECT_EQ(lane.Report().no_room.code(), StatusCode::kDiskFull);
  table.lane.log->appends_until_full = -1;  // space is there again: the same writes pass
  EXPECT_TRUE(table.lane.AskStatus(header, OneRow(5)).ok());
  EXPECT_EQ(table.lane.AskStatus(unknown, {Keys({1})}).code(), StatusCode::kNotFound);
  EXPECT_EQ(table.Value(), 5.0F);
  EXPECT_TRUE(lane.no_room().ok());
  // A report looks again, though nobody writes.
  table.lane.log->appends_until_full = 0;
  const wire::Header next = PutHeader(table.client, table.spec, AckLevel::kLogged);
  EXPECT_EQ(table.lane.AskStatus(next, OneRow(6)).code(), StatusCode::kDiskFull);
  EXPECT_FALSE(lane.no_room().ok());
  table.lane.log->appends_until_full = -1;
  EXPECT_TRUE(lane.Report().no_room.ok());
  EXPECT_TRUE(lane.no_room().ok());
}

TEST(LaneLog, AFullDiskLeavesAStepOpen) {
  Table table;
  TestClient other{.id = 2};
  const auto push = [&](TestClient& client, uint16_t rank) {
    wire::Header header = client.Write(Command::kPush, IdOf(table.spec), 1, 2);
    header.ack = wire::kAckDefault;
    return TestClient::Sync(header, {.id = 1, .rank = rank, .world = 2}, 1);
  };
  const wire::Header a = push(table.client, 0);
  const wire::Header b = push(other, 1);
  table.lane.log->appends_until_full = 0;
  EXPECT_TRUE(table.Send(a, OneRow()).empty());
  const auto refused = table.Send(b, OneRow(2));
  ASSERT_EQ(refused.size(), 2U);
  for (const auto& reply : refused) {
    EXPECT_EQ(wire::StatusOfReply(reply.second).code(), StatusCode::kDiskFull);
  }
  table.lane.log->appends_until_full = -1;
  EXPECT_TRUE(table.Send(b, OneRow(2)).empty());
  EXPECT_TRUE(table.Send(a, OneRow()).empty());
  EXPECT_EQ(table.lane.Commit().size(), 2U);
  EXPECT_EQ(table.Value(), -3.0F);
}

TEST(LaneLog, AfterAFailedWriteNothingLeaves) {
  Table table;
  EXPECT_TRUE(table.Send(PutHeader(table.client, table.spec, AckLevel::kLogged), OneRow()).empty());
  table.lane.log->write_fails = true;
  std::vector<Envelope> out;
  EXPECT_EQ(table.lane.lane.lane.Commit(&out).message(), "the fake write failed");
  EXPECT_TRUE(out.empty());
  table.lane.log->write_fails = false;  // the error is final
  EXPECT_FALSE(table.lane.lane.lane.Commit(&out).ok());
  EXPECT_TRUE(out.empty());
}

TEST(LaneLog, WithoutALogOnlyAppliedIsOffered) {
  TestLane lane;
  TestClient client;
  TableSpec spec = TestSpec();
  CreateTable(lane, client, spec);
  EXPECT_TRUE(lane.AskStatus(PutHeader(client, spec, AckLevel::kApplied), OneRow()).ok());
  for (const AckLevel level : {AckLevel::kLogged, AckLevel::kSynced}) {
    const Status refused = lane.AskStatus(PutHeader(client, spec, level), OneRow());
    EXPECT_EQ(refused.code(), StatusCode::kRefused);
    EXPECT_NE(refused.message().find(AckLevelName(level)), std::string::npos);
    EXPECT_NE(refused.message().find("server.data"), std::string::npos);
    spec.name = "other";
    spec.ack = level;
    EXPECT_EQ(lane.AskStatus(client.Write(Command::kCreateTable), {Definition(spec)}).code(),
              StatusCode::kRefused);
    spec = TestSpec();
  }
}

TEST(LaneLog, AClientThatGivesWayIsExpiredInTheLogFirst) {
  LaneConfig config = DurableConfig();
  config.dedup = {.clients_max = 1, .idle_min = 100};
  DurableLane lane(std::move(config));
  TestClient a{.id = 1}, b{.id = 2};
  const TableSpec spec = TestSpec();
  ASSERT_TRUE(lane.AskStatus(a.Write(Command::kCreateTable), {Definition(spec)}).ok());
  lane.lane.now += 100;
  lane.log->appends_until_full = 0;
  const wire::Header header = PutHeader(b, spec, AckLevel::kLogged);
  EXPECT_EQ(lane.AskStatus(header, OneRow()).code(), StatusCode::kDiskFull);
  EXPECT_TRUE(lane.AskStatus(b.Read(Command::kPing)).ok());
  lane.log->appends_until_full = -1;
  EXPECT_TRUE(lane.AskStatus(header, OneRow()).ok());
  ASSERT_EQ(lane.log->records.size(), 3U);
  EXPECT_EQ(lane.log->records[1].kind, RecordKind::kExpired);
  EXPECT_EQ(DecodeExpired(lane.log->records[1].body).value(), (ClientId{1, 1}));
  EXPECT_EQ(lane.AskStatus(PutHeader(a, spec, AckLevel::kLogged), OneRow()).code(),
            StatusCode::kSessionExpired);
}

TEST(LaneLog, WhatComesTooLateIsNotBegun) {
  Table table;
  wire::Header header = PutHeader(table.client, table.spec, AckLevel::kApplied);
  header.timeout_ms = 10;
  std::vector<Envelope> out;
  const TimeNs now = table.lane.lane.now;
  table.lane.lane.lane.Handle({"peer", wire::Seal(header, OneRow())}, now - 10 * kMillisecond, now,
                              &out);
  auto replies = TestLane::Opened(std::move(out));
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(wire::StatusOfReply(replies[0].second).code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(table.lane.lane.metrics.expired.Value(), 1U);
  EXPECT_EQ(table.Value(), 0.0F);
}

}  // namespace
}  // namespace strata
