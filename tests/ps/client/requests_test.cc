// Requests on their way: retries, order, flow control, cutting, damaged and misfitting replies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/ps/client/scripted_servers.h"

namespace strata {
namespace {

using ::testing::HasSubstr;
using wire::Command;

TEST(ClientRequests, ARetryKeepsItsSequenceAndHasANewId) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1, 2}, 3);
  const auto pushed = servers.Submit(batch.Make(OpKind::kUpdate));
  const Sent first = servers.Next();
  EXPECT_EQ(first.header().sequence, 1U);
  EXPECT_EQ(first.header().settled_below, 1U);
  EXPECT_EQ(first.header().incarnation, servers.Incarnation(0));
  EXPECT_EQ(first.header().timeout_ms, 60'000U);
  servers.AdvanceTo(kSecond - 1);
  EXPECT_TRUE(servers.Silent());
  servers.AdvanceTo(kSecond);
  const Sent ping = servers.Next();
  EXPECT_EQ(ping.header().command, Command::kPing);
  const Sent second = servers.Next();
  EXPECT_EQ(second.header().sequence, 1U);
  EXPECT_NE(second.header().request_id, first.header().request_id);
  EXPECT_EQ(second.header().body_checksum, first.header().body_checksum);
  EXPECT_EQ(second.header().timeout_ms, 59'000U);
  servers.Reply(first);
  ASSERT_TRUE(pushed->has_value());
  EXPECT_TRUE((*pushed)->status.ok());
  servers.Reply(second);  // of no use any more, and harmless
  (void)servers.Submit(batch.Make(OpKind::kUpdate));
  const Sent next = servers.Next();
  EXPECT_EQ(next.header().sequence, 2U);
  EXPECT_EQ(next.header().settled_below, 2U);
}

TEST(ClientRequests, WhatWasGivenUpIsSettled) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1}, 1);
  Operation push = batch.Make(OpKind::kUpdate);
  push.deadline = kSecond / 2;
  const auto pushed = servers.Submit(push);
  (void)servers.Next();
  servers.AdvanceTo(kSecond / 2);
  ASSERT_TRUE(pushed->has_value());
  EXPECT_EQ((*pushed)->status.code(), StatusCode::kDeadlineExceeded);
  (void)servers.Submit(batch.Make(OpKind::kUpdate));
  EXPECT_EQ(servers.Next().header().settled_below, 2U);
}

TEST(ClientRequests, AReadWaitsForAnEarlierWriteToItsTableOnly) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1, 2}, 1);
  (void)servers.Submit(batch.Make(OpKind::kUpdate));
  const Sent push = servers.Next();
  (void)servers.Submit(batch.Make(OpKind::kLookup));
  EXPECT_TRUE(servers.Silent());
  (void)servers.Submit(batch.Make(OpKind::kLookup, OtherTable().id()));
  EXPECT_EQ(servers.Next().header().name_hash(), static_cast<uint64_t>(OtherTable().id()));
  servers.Reply(push);
  const Sent pull = servers.Next();
  EXPECT_EQ(pull.header().command, Command::kPull);
  // Reads pass reads; a write waits for both.
  (void)servers.Submit(batch.Make(OpKind::kLookup));
  const Sent second_pull = servers.Next();
  (void)servers.Submit(batch.Make(OpKind::kErase));
  EXPECT_TRUE(servers.Silent());
  servers.ReplyRows(second_pull, 1);
  EXPECT_TRUE(servers.Silent());
  servers.ReplyRows(pull, 1);
  EXPECT_EQ(servers.Next().header().command, Command::kErase);
}

TEST(ClientRequests, ASynchronousPullIsUnderWayWithThePushesItWaitsFor) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1, 2}, 1);
  (void)servers.Submit(batch.Sync(OpKind::kUpdate, 1));
  (void)servers.Submit(batch.Sync(OpKind::kLookup, 2));
  const Sent push = servers.Next();
  const Sent pull = servers.Next();
  EXPECT_EQ(pull.header().step, 2U);
  EXPECT_EQ(pull.header().rank, 1U);
  EXPECT_EQ(pull.header().world, 2U);
  // The push of step 2 would change what the pull of step 2 is to see.
  (void)servers.Submit(batch.Sync(OpKind::kUpdate, 2));
  EXPECT_TRUE(servers.Silent());
  servers.Reply(push);
  EXPECT_TRUE(servers.Silent());
  servers.ReplyRows(pull, 1);
  EXPECT_EQ(servers.Next().header().step, 2U);
}

TEST(ClientRequests, AnUpdateLookupIsOneMessageALane) {
  ScriptedServers servers({2});
  servers.Connect();
  std::vector<Key> keys(40), then(30);
  std::iota(keys.begin(), keys.end(), 0U);
  std::iota(then.begin(), then.end(), 25U);
  TestBatch batch(keys, 1);
  std::vector<float> rows(then.size());
  Operation operation = batch.Make(OpKind::kUpdate);
  operation.kind = OpKind::kUpdateLookup;
  operation.parts[0].then = then;
  operation.parts[0].out = rows;
  const auto done = servers.Submit(operation);
  for (int lane = 0; lane < 2; ++lane) {
    const Sent sent = servers.Next();
    EXPECT_EQ(sent.header().command, Command::kPushPull);
    const auto count = static_cast<uint32_t>(sent.message.payload.at(2).size() / sizeof(Key));
    std::vector<float> found;
    const std::vector<Key> asked = wire::ReadKeys(sent.message.payload[2], count).value();
    for (const Key key : asked) {
      found.push_back(static_cast<float>(key));
    }
    wire::Header reply = wire::ReplyHeader(sent.header(), servers.Incarnation(0));
    reply.count = count;
    servers.Deliver(sent.peer, wire::Seal(reply, {Frame::Own(found)}));
  }
  EXPECT_TRUE(servers.Silent());
  ASSERT_TRUE(done->has_value());
  EXPECT_TRUE((*done)->status.ok()) << (*done)->status.ToString();
  for (size_t i = 0; i < then.size(); ++i) EXPECT_EQ(rows[i], static_cast<float>(then[i])) << i;
}

TEST(ClientRequests, ASynchronousPushPassesAPullThatWaitsForItAndAFullBudget) {
  ClientCoreOptions options;
  options.lane_bytes_in_flight = 1;
  ScriptedServers servers({1}, options);
  servers.Connect();
  TestBatch batch({1, 2}, 1);
  (void)servers.Submit(batch.Sync(OpKind::kLookup, 2));
  (void)servers.Submit(batch.Sync(OpKind::kUpdate, 1));
  EXPECT_EQ(servers.Next().header().command, Command::kPull);
  EXPECT_EQ(servers.Next().header().command, Command::kPush);
}

TEST(ClientRequests, ASynchronousPushReachesEveryLaneEvenEmpty) {
  ScriptedServers servers({2, 1});
  servers.Connect();
  TestBatch batch({}, 1);
  (void)servers.Submit(batch.Sync(OpKind::kUpdate, 1));
  servers.Collect();
  EXPECT_EQ(servers.sent.size(), 3U);
}

TestBatch ThousandKeys() {
  std::vector<Key> keys(1000);
  std::iota(keys.begin(), keys.end(), Key{0});
  return {std::move(keys), 1};
}

TEST(ClientRequests, TheBudgetHoldsBackTheRestInOrder) {
  ClientCoreOptions options;
  options.chunk_bytes = 100 * (8 + 4);
  options.lane_bytes_in_flight = 2 * (2 * wire::kHeaderBytes + options.chunk_bytes);
  ScriptedServers servers({1}, options);
  servers.Connect();
  TestBatch batch = ThousandKeys();
  const auto pulled = servers.Submit(batch.Make(OpKind::kLookup));
  servers.Collect();
  EXPECT_EQ(servers.sent.size(), 2U);
  float value = 0;
  while (!servers.Silent()) {
    EXPECT_LE(servers.sent.size(), 2U);
    const Sent pull = servers.Next();
    EXPECT_LE(pull.header().count, 100U);
    servers.ReplyRows(pull, value++);
  }
  ASSERT_TRUE(pulled->has_value());
  EXPECT_TRUE((*pulled)->status.ok());
  for (size_t i = 0; i < batch.keys.size(); ++i) {
    const size_t chunk = i / 100;
    ASSERT_EQ(batch.out[i], static_cast<float>(chunk)) << i;
  }
}

TEST(ClientRequests, TheLanesLastReplySaysHowMuchMayBeUnderWay) {
  ClientCoreOptions options;
  options.chunk_bytes = 100 * (8 + 4);
  const size_t bytes = 2 * wire::kHeaderBytes + options.chunk_bytes;  // of a request
  ScriptedServers servers({1}, options);
  servers.Connect();
  TestBatch batch = ThousandKeys();
  const auto pulled = servers.Submit(batch.Make(OpKind::kLookup));
  const auto behind = servers.Submit(batch.Make(OpKind::kLookup));
  const auto granted = [&](size_t credit) {
    const Sent pull = servers.Next();
    wire::Header header = wire::ReplyHeader(pull.header(), servers.Incarnation(0));
    header.credit = static_cast<uint32_t>(credit);
    const std::vector<float> rows(header.count, 0.0F);
    servers.Deliver(pull.peer, wire::Seal(header, {Frame::Copy(std::as_bytes(std::span(rows)))}));
    servers.Collect();
    return servers.sent.size();  // under way
  };
  servers.Collect();
  EXPECT_EQ(servers.sent.size(), 20U);
  for (size_t left = 19; left >= 10; --left) EXPECT_EQ(granted(3 * bytes), left);
  const auto more = servers.Submit(batch.Make(OpKind::kLookup));
  EXPECT_EQ(servers.sent.size(), 10U);  // it waits
  for (size_t left = 9; left >= 3; --left) EXPECT_EQ(granted(3 * bytes), left);
  EXPECT_EQ(granted(3 * bytes), 3U);
  EXPECT_EQ(granted(1), 2U);
  EXPECT_EQ(granted(1), 1U);
  EXPECT_EQ(granted(1), 1U);  // one is always allowed
  EXPECT_EQ(granted(5 * bytes), 5U);
  EXPECT_EQ(granted(0), 4U + 3U);  // nothing is said: as much as the client itself allows
  while (!servers.Silent()) granted(4 * bytes);
  EXPECT_TRUE((*pulled)->status.ok() && (*behind)->status.ok() && (*more)->status.ok());
}

TEST(ClientRequests, ALaneThatHasNotAnsweredYetIsSentLittle) {
  ScriptedServers servers({2});
  servers.Connect();  // lane 0 has answered
  std::vector<Key> keys(400'000);
  std::iota(keys.begin(), keys.end(), Key{0});
  TestBatch batch(keys, 1);
  (void)servers.Submit(batch.Make(OpKind::kLookup));
  servers.Collect();
  size_t of_lane[2] = {0, 0};
  for (const Sent& sent : servers.sent) {
    of_lane[sent.peer.back() - '1'] += 2 * wire::kHeaderBytes + sent.header().count * 12;
  }
  EXPECT_GT(of_lane[0], 2U * wire::kCreditMin);
  EXPECT_GT(of_lane[1], 0U);
  EXPECT_LE(of_lane[1], wire::kCreditMin + 2 * wire::kHeaderBytes);
}

TEST(ClientRequests, DamagedRepliesAndRequestsAreSentAgain) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1}, 1);
  const auto pulled = servers.Submit(batch.Make(OpKind::kLookup));
  Sent pull = servers.Next();
  Message reply = wire::MakeReply(pull.header(), servers.Incarnation(0), {},
                                  {Frame::Own(std::vector<float>{1})});
  reply[1] = Frame::Own(std::vector<float>{2});
  servers.Deliver(pull.peer, reply);
  EXPECT_FALSE(pulled->has_value());
  servers.Reply(pull, Corrupt("checksum"));
  EXPECT_FALSE(pulled->has_value());
  servers.AdvanceTo(kSecond);
  EXPECT_EQ(servers.Next().header().command, Command::kPing);
  servers.ReplyRows(servers.Next(), 3);
  ASSERT_TRUE(pulled->has_value());
  EXPECT_EQ(batch.out[0], 3.0F);
}

TEST(ClientRequests, RepliesThatDoNotFitAreErrors) {
  const auto status_of = [](uint32_t count, uint32_t width, size_t elements) {
    ScriptedServers servers({1});
    servers.Connect();
    TestBatch batch({1, 2}, 3);
    const auto pulled = servers.Submit(batch.Make(OpKind::kLookup));
    const Sent pull = servers.Next();
    wire::Header header = wire::ReplyHeader(pull.header(), servers.Incarnation(0));
    header.count = count;
    header.width = width;
    servers.Deliver(pull.peer,
                    wire::Seal(header, {Frame::Own(std::vector<float>(elements, 1.0F))}));
    return (*pulled)->status;
  };
  EXPECT_TRUE(status_of(2, 3, 6).ok());
  EXPECT_EQ(status_of(2, 3, 5).code(), StatusCode::kInvalid);
  EXPECT_EQ(status_of(2, 4, 8).code(), StatusCode::kInvalid);
  EXPECT_EQ(status_of(3, 3, 9).code(), StatusCode::kInvalid);
  EXPECT_EQ(status_of(0, 3, 0).code(), StatusCode::kInvalid);
}

TEST(ClientRequests, StrangersAndRepliesToNothingAreIgnored) {
  ScriptedServers servers({1, 1});
  servers.Connect();
  TestBatch batch({1}, 1);
  const auto pulled = servers.Submit(batch.Make(OpKind::kLookup));
  Sent pull = servers.Next();
  Sent stranger = pull;
  stranger.peer = "tcp://elsewhere:1";
  servers.Deliver(stranger.peer, wire::MakeReply(pull.header(), 100, Failed("no"), {}));
  Sent other_id = pull;
  other_id.message.header.request_id += 1000;
  servers.Reply(other_id, Failed("no"));
  Sent other_command = pull;
  other_command.message.header.command = Command::kErase;
  servers.Reply(other_command);
  servers.Deliver(pull.peer, {Frame::Own(std::vector<float>{1, 2, 3})});
  EXPECT_FALSE(pulled->has_value());
  servers.ReplyRows(pull, 4);
  EXPECT_TRUE(pulled->has_value());
}

TEST(ClientRequests, ErrorsNameServerAndLane) {
  ScriptedServers servers({2});
  servers.Connect();
  std::vector<Key> keys(100);
  std::iota(keys.begin(), keys.end(), Key{0});
  TestBatch batch(keys, 1);
  const auto pushed = servers.Submit(batch.Make(OpKind::kUpdate));
  servers.Collect();
  for (const Sent& push : std::exchange(servers.sent, {})) {
    EXPECT_FALSE(pushed->has_value());
    servers.Reply(push, push.peer == "tcp://host0:7002" ? Refused("memory is full") : Status());
  }
  ASSERT_TRUE(pushed->has_value());
  EXPECT_EQ((*pushed)->status.message(), "server 0 (host0:7000), lane 1: memory is full");
  ASSERT_EQ((*pushed)->lanes.size(), 2U);
  EXPECT_TRUE((*pushed)->lanes[0].status.ok());
  EXPECT_EQ((*pushed)->lanes[1].status.code(), StatusCode::kRefused);
}

TEST(ClientRequests, AbortEndsWhatIsOpenAndWhatComesLater) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1}, 1);
  const auto open = servers.Submit(batch.Make(OpKind::kUpdate));
  const auto waiting = servers.Submit(batch.Make(OpKind::kLookup));
  servers.core.Abort(Lost("rank 3 is gone"));
  const auto later = servers.Submit(batch.Make(OpKind::kLookup));
  for (const auto& outcome : {open, waiting, later}) {
    ASSERT_TRUE(outcome->has_value());
    EXPECT_EQ((*outcome)->status.message(), "rank 3 is gone");
  }
  std::optional<Status> listed;
  servers.core.ListTables([&](const auto& tables) { listed = tables.status(); }, 0);
  EXPECT_EQ(listed->code(), StatusCode::kLost);
  EXPECT_EQ(servers.core.NextTick(), kNever);
}

TEST(ClientRequests, AFlushWaitsForAllThatCameBefore) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1}, 1);
  (void)servers.Submit(batch.Make(OpKind::kUpdate));
  Operation flush;
  flush.kind = OpKind::kFlush;
  const auto flushed = servers.Submit(flush);
  (void)servers.Submit(batch.Make(OpKind::kLookup, OtherTable().id()));
  const Sent push = servers.Next();
  EXPECT_FALSE(flushed->has_value());
  servers.Reply(push);
  EXPECT_TRUE(flushed->has_value());
}

TEST(ClientRequests, AnUnknownTableIsAskedForOnceAndOthersWaitTheirTurn) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1}, 1);
  TableSpec late = TestTable(1);
  late.name = "late";
  const auto unknown = servers.Submit(batch.Make(OpKind::kLookup, TableId{12345}));
  const auto known = servers.Submit(batch.Make(OpKind::kLookup, late.id()));
  const Sent list = servers.Next();
  EXPECT_EQ(list.header().command, Command::kListTables);
  EXPECT_TRUE(servers.Silent());
  servers.Reply(list, {}, {wire::EncodeTableDefinitions(std::vector{ToWire(late)})});
  ASSERT_TRUE(unknown->has_value());
  EXPECT_EQ((*unknown)->status.code(), StatusCode::kNotFound);
  servers.ReplyRows(servers.Next(), 8);
  ASSERT_TRUE(known->has_value());
  EXPECT_TRUE((*known)->status.ok());
  // A server that does not know it any more: the next operation asks again.
  const auto gone = servers.Submit(batch.Make(OpKind::kLookup, late.id()));
  servers.Reply(servers.Next(), NotFound("no such id"));
  const auto dropped = HasSubstr("there is no table 'late' any more: it was dropped meanwhile");
  EXPECT_EQ((*gone)->status.code(), StatusCode::kNotFound);
  EXPECT_THAT((*gone)->status.message(), dropped);
  const auto still = servers.Submit(batch.Make(OpKind::kLookup, late.id()));
  const Sent again = servers.Next();
  EXPECT_EQ(again.header().command, Command::kListTables);
  servers.Reply(again, {}, {wire::EncodeTableDefinitions({})});
  EXPECT_THAT((*still)->status.message(), dropped);
}

TEST(ClientRequests, WhatDoesNotFitItsTableSendsNothingAtAll) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch good({1}, 1), bad({1}, 3);
  Operation push = good.Make(OpKind::kUpdate);
  push.parts.push_back(bad.Make(OpKind::kUpdate, OtherTable().id()).parts[0]);
  EXPECT_EQ((*servers.Submit(push))->status.code(), StatusCode::kInvalid);
  EXPECT_TRUE(servers.Silent());
  push.parts.pop_back();
  push.deadline = servers.now;
  EXPECT_EQ((*servers.Submit(push))->status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(servers.Silent());
}

TEST(ClientRequests, InvalidOperationsEndAtOnce) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1, 2}, 1);
  Operation push = batch.Make(OpKind::kUpdate);
  push.ack = static_cast<AckLevel>(77);
  EXPECT_EQ((*servers.Submit(push))->status.code(), StatusCode::kInvalid);
  ScanPage page;
  page.lane = 7;
  Operation scan;
  scan.kind = OpKind::kScan;
  TablePart part;
  part.table = OtherTable().id();
  part.page = &page;
  scan.parts = {part};
  EXPECT_THAT((*servers.Submit(scan))->status.message(), HasSubstr("lane 7"));
}

}  // namespace
}  // namespace strata
