// LEAVE: a client that ends gives its place back, and nothing of it is applied afterwards.
#include "tests/ps/server/durable_lane.h"

namespace strata {
namespace {

using wire::Command;

float ValueOf(TestLane& lane, const TableSpec& spec) {
  TestClient reader{.id = 1'000'000};
  const wire::Received reply = lane.Ask(reader.Read(Command::kPull, IdOf(spec), 1), {Keys({7})});
  return wire::ReadRows(reply.payload.at(0), 1, 2).value()[0];
}

TEST(LaneLeave, MoreShortLivedClientsThanAreKept) {
  TestLane lane;
  const TableSpec spec = TestSpec();
  TestClient first;
  CreateTable(lane, first, spec);
  for (uint64_t id = 2; id <= 2 * DedupLimits().clients_max; ++id) {
    TestClient client{.id = id};
    const Status put = lane.AskStatus(client.Write(Command::kPut, IdOf(spec), 1, 2),
                                      {Keys({7}), Rows({static_cast<float>(id), 0})});
    ASSERT_TRUE(put.ok()) << "client " << id << ": " << put.ToString();
    ASSERT_TRUE(lane.AskStatus(client.Read(Command::kLeave)).ok());
    ASSERT_EQ(lane.lane.Report().clients, 1U);
  }
}

// The first answer, a late copy before and after a restart, and a second LEAVE.
TEST(LaneLeave, ALateCopyIsNeverAppliedAgain) {
  DurableLane lane;
  const TableSpec spec = TestSpec();
  TestClient writer, other{.id = 2};
  ASSERT_TRUE(lane.AskStatus(writer.Write(Command::kCreateTable), {Definition(spec)}).ok());
  const wire::Header push = writer.Write(Command::kPush, IdOf(spec), 1, 2);
  const auto gradients = [] { return Message{Keys({7}), Rows({1, 1})}; };
  ASSERT_TRUE(lane.AskStatus(push, gradients()).ok());
  const float once = ValueOf(lane.lane, spec);
  ASSERT_TRUE(lane.AskStatus(writer.Read(Command::kLeave)).ok());
  ASSERT_EQ(lane.log->records.back().kind, RecordKind::kExpired);
  const size_t records = lane.log->records.size();
  ASSERT_TRUE(lane.AskStatus(writer.Read(Command::kLeave)).ok());
  ASSERT_TRUE(lane.AskStatus(other.Read(Command::kLeave)).ok());  // it has written nothing
  EXPECT_EQ(lane.log->records.size(), records);
  EXPECT_EQ(lane.AskStatus(push, gradients()).code(), StatusCode::kSessionExpired);
  EXPECT_EQ(ValueOf(lane.lane, spec), once);

  TestLane back(DurableConfig());
  ASSERT_TRUE(RecoverFrom(back, lane.log, records).ok());
  EXPECT_EQ(back.lane.Report().clients, 0U);
  EXPECT_EQ(back.AskStatus(push, gradients()).code(), StatusCode::kSessionExpired);
  EXPECT_EQ(ValueOf(back, spec), once);
}

TEST(LaneLeave, AWriteThatWaitsKeepsTheClient) {
  TestLane lane;
  const TableSpec spec = TestSpec();
  TestClient zero, one{.id = 2};
  CreateTable(lane, zero, spec);
  SyncGroup group{.id = 3, .rank = 0, .world = 2, .first_step = 1};
  const auto push = [&](TestClient& client) {
    const wire::Header header = client.Write(Command::kPush, IdOf(spec), 1, 2);
    return lane.Handle("peer",
                       wire::Seal(TestClient::Sync(header, group, 1), {Keys({7}), Rows({1, 1})}));
  };
  EXPECT_TRUE(push(zero).empty());
  EXPECT_TRUE(lane.AskStatus(zero.Read(Command::kLeave)).ok());
  EXPECT_EQ(lane.lane.Report().clients, 1U);
  group.rank = 1;
  const auto replies = push(one);
  ASSERT_EQ(replies.size(), 2U);
  for (const auto& [peer, reply] : replies) EXPECT_TRUE(wire::StatusOfReply(reply).ok());
}

TEST(LaneLeave, AFullDiskKeepsTheClientToo) {
  DurableLane lane;
  TestClient writer;
  ASSERT_TRUE(lane.AskStatus(writer.Write(Command::kCreateTable), {Definition(TestSpec())}).ok());
  lane.log->appends_until_full = 0;
  EXPECT_EQ(lane.AskStatus(writer.Read(Command::kLeave)).code(), StatusCode::kDiskFull);
  EXPECT_EQ(lane.lane.lane.Report().clients, 1U);
}

}  // namespace
}  // namespace strata
