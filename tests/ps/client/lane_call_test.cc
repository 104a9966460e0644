// Commands to lanes beside the table operations, and the cut that all messages carry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ps/client/scripted_servers.h"

namespace strata {
namespace {

using wire::Command;

struct Called {
  std::optional<Status> status;
  std::vector<wire::Received> replies;
};

std::shared_ptr<Called> CallLanes(ScriptedServers& servers, LaneCall call) {
  auto called = std::make_shared<Called>();
  servers.core.CallLanes(
      std::move(call),
      [called](Status status, std::vector<wire::Received> replies) {
        called->status = std::move(status);
        called->replies = std::move(replies);
      },
      servers.now);
  return called;
}

void ReplyWithCut(ScriptedServers& servers, Sent to, uint32_t cut, Message payload = {}) {
  to.message.header.cut = cut;
  servers.Reply(to, {}, std::move(payload));
}

TEST(ClientLaneCall, ReachesEveryLaneAndBringsTheRepliesInTheirOrder) {
  ScriptedServers servers({2, 1});
  servers.Connect();
  LaneCall save{.command = Command::kCheckpoint, .flags = wire::kFlagFull, .number = 7, .cut = 7};
  const auto called = CallLanes(servers, save);
  servers.Collect();
  ASSERT_EQ(servers.sent.size(), 3U);
  auto sent = std::exchange(servers.sent, {});
  std::ranges::reverse(sent);
  for (const Sent& s : sent) {
    EXPECT_FALSE(called->status.has_value());
    EXPECT_EQ(s.header().cursor, 7U);
    EXPECT_EQ(s.header().cut, 7U);
    EXPECT_TRUE(s.header().is(wire::kFlagFull));
    ReplyWithCut(servers, s, 7, {Frame::Own(std::vector<char>(s.peer.begin(), s.peer.end()))});
  }
  ASSERT_TRUE(called->status.has_value());
  EXPECT_TRUE(called->status->ok());
  ASSERT_EQ(called->replies.size(), 3U);
  const char* const endpoints[] = {"tcp://host0:7001", "tcp://host0:7002", "tcp://host1:7001"};
  for (size_t lane = 0; lane < 3; ++lane) {
    const auto bytes = called->replies[lane].payload[0].bytes();
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
              endpoints[lane]);
  }
}

// A CUT's sequence numbers the cuts of a client, not its writes: its end settles none of them.
TEST(ClientLaneCall, ACutLeavesAWriteOfTheSameNumberUnsettled) {
  ScriptedServers servers({1});
  servers.Connect();
  (void)CallLanes(servers, {.command = Command::kCut, .number = 1, .lane = 0});
  const Sent cut = servers.Next();
  TestBatch batch({1}, 1);
  uint64_t written = 0;
  for (std::optional<Sent> before; written < cut.header().sequence;) {
    if (before) servers.Reply(*before);
    (void)servers.Submit(batch.Make(OpKind::kUpdate));
    before = servers.Next();
    written = before->header().sequence;
  }
  servers.Reply(cut);
  (void)servers.Submit(batch.Make(OpKind::kUpdate, OtherTable().id()));
  EXPECT_EQ(servers.Next().header().settled_below, written);
}

// Answers what server 0 is sent, and pings to server 1, until the deadline.
Status StatusOfAStats(std::vector<uint16_t> lanes) {
  ScriptedServers servers(std::move(lanes));
  servers.Connect();
  servers.AdvanceTo(5 * kSecond);
  const auto called = CallLanes(servers, {.command = Command::kStats, .deadline = 8 * kSecond});
  while (!called->status.has_value()) {
    servers.Collect();
    for (const Sent& sent : std::exchange(servers.sent, {})) {
      const uint16_t server = servers.ServerOf(sent.peer);
      if (sent.header().command != Command::kPing) {
        if (server == 0) servers.Reply(sent, {}, {Frame::Own(std::vector<char>(1))});
      } else if (server == 1) {
        servers.Reply(sent);
      }
    }
    servers.AdvanceTo(std::min(8 * kSecond, servers.core.NextTick()));
  }
  return *called->status;
}

TEST(ClientLaneCall, ADeadlineNamesAllWhoDidNotAnswerAndForHowLong) {
  EXPECT_EQ(StatusOfAStats({1, 2, 1}).ToString(),
            "DEADLINE_EXCEEDED: server 1 (host1:7000), lane 0: no answer to 2 of 2 attempts in 3.0 "
            "s; the deadline also passed for server 1 (host1:7000), lane 1; server 2 (host2:7000), "
            "lane 0");
  EXPECT_THAT(StatusOfAStats({1, 12}).message(),
              ::testing::EndsWith("; server 1 (host1:7000), lane 8; and 3 more"));
}

TEST(ClientLaneCall, ADeadlineTellsASilentServerFromABusyOne) {
  ScriptedServers servers({1});
  servers.Connect();
  const auto called = CallLanes(servers, {.command = Command::kStats, .deadline = 3 * kSecond});
  servers.AdvanceTo(3 * kSecond);
  ASSERT_TRUE(called->status.has_value());
  EXPECT_EQ(called->status->message(),
            "server 0 (host0:7000), lane 0: no answer to 1 of 1 attempt in 3.0 s; nothing has come "
            "from the server for 3.0 s");
}

TEST(ClientLaneCall, OneLaneCanBeMeantAndItsErrorNamesIt) {
  ScriptedServers servers({1, 2});
  servers.Connect();
  LaneCall commit{.command = Command::kCommitCheckpoint, .number = 7, .lane = 2};
  commit.payload = {Frame::Own(std::vector<char>{'p'}), Frame()};
  const auto called = CallLanes(servers, commit);
  const Sent sent = servers.Next();
  EXPECT_TRUE(servers.Silent());
  EXPECT_EQ(sent.peer, "tcp://host1:7002");
  EXPECT_EQ(sent.message.payload[0].size(), 1U);
  servers.AdvanceTo(kSecond);
  EXPECT_EQ(servers.Next().header().command, Command::kPing);
  const Sent again = servers.Next();
  EXPECT_EQ(again.header().body_checksum, sent.header().body_checksum);
  servers.Reply(again, NotFound("no checkpoint 7"));
  EXPECT_EQ(called->status->ToString(),
            "NOT_FOUND: server 1 (host1:7000), lane 1: no checkpoint 7");
  EXPECT_TRUE(called->replies.empty());
}

TEST(ClientLaneCall, ACheckpointThatFindsNoRoomFailsAtOnceAndAPullWaits) {
  for (const Command command : {Command::kPing, Command::kCheckpoint, Command::kCommitCheckpoint,
                                Command::kTrimLog, Command::kRestore}) {
    ScriptedServers servers({1});
    servers.Connect();
    LaneCall call{.command = command, .number = 7};
    if (command == Command::kCommitCheckpoint) call.payload = {Frame(), Frame()};
    const auto called = CallLanes(servers, call);
    servers.Reply(servers.Next(), DiskFull("no room"));
    ASSERT_TRUE(called->status.has_value()) << static_cast<int>(command);
    EXPECT_EQ(called->status->code(), StatusCode::kDiskFull);
    TestBatch batch({1}, 1);
    const auto pulled = servers.Submit(batch.Make(OpKind::kLookup));
    servers.Reply(servers.Next(), DiskFull("no room for the cut that it tells of"));
    EXPECT_FALSE(pulled->has_value());
  }
}

TEST(ClientLaneCall, ItOvertakesWhatWaitsAndAFullBudget) {
  ClientCoreOptions options;
  options.lane_bytes_in_flight = 1;
  ScriptedServers servers({1}, options);
  servers.Connect();
  TestBatch batch({1}, 1), other({1}, 1);
  (void)servers.Submit(batch.Make(OpKind::kUpdate));
  (void)servers.Submit(other.Make(OpKind::kUpdate));
  EXPECT_EQ(servers.Next().header().command, Command::kPush);
  (void)CallLanes(servers, {.command = Command::kPing, .cut = 2});
  EXPECT_EQ(servers.Next().header().command, Command::kPing);
  EXPECT_TRUE(servers.Silent());
}

// The first lane may be done long before the others, and hears all the same that somebody is there.
TEST(ClientLaneCall, TheFirstLaneIsAskedForItsPartUntilAllHaveAnswered) {
  ScriptedServers servers({1, 1});
  servers.Connect();
  const auto called = CallLanes(servers, {.command = Command::kCheckpoint, .number = 7});
  int first = 0;
  Sent slow;
  for (TimeNs second = 0; second <= 20; ++second) {
    servers.AdvanceTo(second * kSecond);
    servers.Collect();
    for (const Sent& sent : std::exchange(servers.sent, {})) {
      if (sent.header().command == Command::kPing) {
        servers.Reply(sent);
      } else if (sent.peer.starts_with("tcp://host0")) {
        ++first;
        servers.Reply(sent, {}, {Frame::Own(std::vector<char>{'0'})});
      } else {
        slow = sent;
      }
    }
    EXPECT_EQ(first, second + 1);
  }
  EXPECT_FALSE(called->status.has_value());
  servers.Reply(slow, {}, {Frame::Own(std::vector<char>{'1'})});
  ASSERT_TRUE(called->status.has_value() && called->status->ok());
  EXPECT_EQ(called->replies.size(), 2U);
  servers.AdvanceTo(servers.now + 10 * kSecond);
  EXPECT_TRUE(servers.Silent());
}

TEST(ClientLaneCall, ACutIsToldFromAnotherByItsSequenceAndKeepsItInRepeats) {
  ScriptedServers servers({1});
  servers.Connect();
  const LaneCall cut{.command = Command::kCut, .number = 7, .lane = 0};
  (void)CallLanes(servers, cut);
  const Sent first = servers.Next();
  EXPECT_NE(first.header().sequence, 0U);
  servers.Reply(first, Unavailable("another's turn"));
  servers.AdvanceTo(servers.now + kSecond / 2);
  const Sent again = servers.Next();
  EXPECT_EQ(again.header().command, Command::kCut);
  EXPECT_EQ(again.header().sequence, first.header().sequence);
  (void)CallLanes(servers, cut);
  EXPECT_GT(servers.Next().header().sequence, first.header().sequence);
}

TEST(ClientLaneCall, EveryMessageCarriesTheHighestCutThatWasHeardOf) {
  ScriptedServers servers({1, 1});
  servers.Connect();
  EXPECT_EQ(servers.core.cut(), 0U);
  TestBatch batch({1, 2, 3, 4, 5, 6, 7, 8}, 1);
  (void)servers.Submit(batch.Make(OpKind::kLookup));
  const Sent first = servers.Next(), second = servers.Next();
  EXPECT_EQ(first.header().cut, 0U);
  Sent with_cut = first;
  with_cut.message.header.cut = 9;
  servers.ReplyRows(with_cut, 1);
  with_cut = second;
  with_cut.message.header.cut = 4;
  servers.ReplyRows(with_cut, 1);
  EXPECT_EQ(servers.core.cut(), 9U);
  (void)servers.Submit(batch.Make(OpKind::kUpdate));
  EXPECT_EQ(servers.Next().header().cut, 9U);
  EXPECT_EQ(servers.Next().header().cut, 9U);
}

// What one server says wrongly is not carried to the others.
TEST(ClientLaneCall, ACutThatIsTooFarAheadIsNotPassedOn) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1}, 1);
  const auto hear = [&](uint32_t cut) {
    (void)servers.Submit(batch.Make(OpKind::kLookup));
    Sent to = servers.Next();
    to.message.header.cut = cut;
    servers.ReplyRows(to, 1);
    return servers.core.cut();
  };
  EXPECT_EQ(hear(UINT32_MAX), 0U);
  EXPECT_EQ(hear(wire::kCutMax + 1), 0U);
  EXPECT_EQ(hear(50'000), 50'000U) << "the first";
  EXPECT_EQ(hear(50'001), 50'001U);
  EXPECT_EQ(hear(1'000'000), 50'001U);
  EXPECT_EQ(hear(UINT32_MAX), 50'001U);
}

TEST(ClientLaneCall, TheAckLevelGoesOutAsTheCallerSaid) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1}, 1);
  for (const AckLevel level : {AckLevel::kDefault, AckLevel::kApplied, AckLevel::kSynced}) {
    Operation push = batch.Make(OpKind::kUpdate);
    push.ack = level;
    (void)servers.Submit(push);
    const Sent sent = servers.Next();
    EXPECT_EQ(sent.header().ack, static_cast<uint8_t>(level));
    servers.Reply(sent);
  }
}

}  // namespace
}  // namespace strata
