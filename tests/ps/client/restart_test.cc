// A server that restarts, replays, runs out of disk or has forgotten the client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ps/client/scripted_servers.h"

namespace strata {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using wire::Command;

// Answers the greeting that the next message must be.
void Greet(ScriptedServers& servers, uint16_t server) {
  const Sent hello = servers.Next();
  ASSERT_EQ(hello.header().command, Command::kHello);
  servers.Reply(hello, {}, {EncodeHelloReply(servers.HelloOf(server))});
  const Sent map = servers.Next();
  ASSERT_EQ(map.header().command, Command::kShardMap);
  servers.Reply(map, {}, {EncodeShardMap(servers.map)});
}

// The first ping to the server, whatever else is sent until then.
Sent PingTo(ScriptedServers& servers, uint16_t server) {
  while (servers.now < 10 * kSecond) {
    servers.AdvanceTo(servers.core.NextTick());
    servers.Collect();
    for (const Sent& sent : std::exchange(servers.sent, {})) {
      if (sent.header().command != Command::kPing) continue;
      if (servers.ServerOf(sent.peer) == server) return sent;
    }
  }
  ADD_FAILURE() << "no ping";
  return {};
}

TEST(ClientRestart, AnotherBootIsGreetedAndWhatIsUnansweredSentAgainAtOnce) {
  ScriptedServers servers({1, 1});
  servers.Connect();
  TestBatch batch({1, 2, 3, 4, 5, 6, 7, 8}, 1), again({1, 2, 3, 4, 5, 6, 7, 8}, 1);
  const auto done = servers.Submit(batch.Make(OpKind::kUpdate));
  for (int i = 0; i < 2; ++i) servers.Reply(servers.Next());
  ASSERT_TRUE(done->has_value());
  const auto pushed = servers.Submit(batch.Make(OpKind::kUpdate));
  const auto pulled = servers.Submit(again.Make(OpKind::kLookup));
  Sent first = servers.Next(), second = servers.Next();
  if (servers.ServerOf(first.peer) == 1) std::swap(first, second);
  servers.Reply(first);
  servers.ReplyRows(servers.Next(), 2);
  servers.boots[1] = 1;
  servers.Reply(PingTo(servers, 1));
  Greet(servers, 1);
  const Sent resent = servers.Next();
  EXPECT_EQ(resent.peer, "tcp://host1:7101");
  EXPECT_EQ(resent.header().sequence, second.header().sequence);
  EXPECT_EQ(resent.header().incarnation, servers.Incarnation(1));
  // What comes from the boot before is too late, and from an endpoint that is nobody's now.
  servers.boots[1] = 0;
  servers.Reply(second);
  servers.Deliver(resent.peer, wire::MakeReply(resent.header(), servers.Incarnation(1), {}, {}));
  EXPECT_FALSE(pushed->has_value());
  servers.boots[1] = 1;
  servers.Reply(resent);
  ASSERT_TRUE(pushed->has_value());
  EXPECT_TRUE((*pushed)->status.ok()) << (*pushed)->status.ToString();
  servers.ReplyRows(servers.Next(), 2);
  ASSERT_TRUE(pulled->has_value());
  EXPECT_TRUE((*pulled)->status.ok()) << (*pulled)->status.ToString();
}

TEST(ClientRestart, ALateErrorIsNoAnswerToAGreeting) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1}, 1);
  const auto pulled = servers.Submit(batch.Make(OpKind::kLookup));
  const Sent pull = servers.Next();
  servers.boots[0] = 1;
  servers.Reply(pull, Failed("of the next boot, before it is greeted"));
  EXPECT_FALSE(pulled->has_value());
  Greet(servers, 0);
  servers.ReplyRows(servers.Next(), 1);
  ASSERT_TRUE(pulled->has_value());
  EXPECT_TRUE((*pulled)->status.ok()) << (*pulled)->status.ToString();
  const auto again = servers.Submit(batch.Make(OpKind::kLookup));
  servers.ReplyRows(servers.Next(), 1);
  ASSERT_TRUE(again->has_value());
  EXPECT_TRUE((*again)->status.ok()) << (*again)->status.ToString();
}

TEST(ClientRestart, ReplyOfTheNextBootCountsOnceItIsGreeted) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1}, 1);
  const auto pushed = servers.Submit(batch.Make(OpKind::kUpdate));
  const Sent push = servers.Next();
  servers.boots[0] = 3;
  servers.Reply(push);
  EXPECT_FALSE(pushed->has_value());
  // What is submitted now waits until the ports are known.
  const auto next = servers.Submit(batch.Make(OpKind::kUpdate));
  Greet(servers, 0);
  const Sent again = servers.Next();
  EXPECT_EQ(again.peer, "tcp://host0:7301");
  EXPECT_EQ(again.header().sequence, push.header().sequence);
  servers.Reply(again);
  ASSERT_TRUE(pushed->has_value());
  EXPECT_TRUE((*pushed)->status.ok());
  servers.Reply(servers.Next());
  ASSERT_TRUE(next->has_value());
  EXPECT_TRUE((*next)->status.ok());
}

TEST(ClientRestart, GreetingItAgainIsRepeatedAndWaitedForAsLongAsForAnyAnswer) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1}, 1);
  (void)servers.Submit(batch.Make(OpKind::kLookup));
  servers.boots[0] = 1;
  servers.ReplyRows(servers.Next(), 1);
  const auto open = servers.Submit(batch.Make(OpKind::kUpdate));
  size_t hellos = 0;
  while (!open->has_value() && servers.now < 20 * kSecond) {
    servers.Collect();
    for (const Sent& s : std::exchange(servers.sent, {})) {
      EXPECT_EQ(s.peer, "tcp://host0:7000");
      hellos += s.header().command == Command::kHello ? 1 : 0;
    }
    servers.AdvanceTo(servers.core.NextTick());
  }
  ASSERT_TRUE(open->has_value());
  EXPECT_EQ((*open)->status.code(), StatusCode::kLost);
  EXPECT_THAT((*open)->status.message(), HasSubstr("has been silent for 5"));
  EXPECT_THAT((*open)->status.message(), Not(HasSubstr("not known"))) << "it was never sent";
  EXPECT_THAT((*open)->status.message(), Not(HasSubstr("acknowledged"))) << "there is none";
  EXPECT_GE(hellos, 9U);
  // And once it answers, it is as good as new.
  servers.AdvanceTo(servers.core.NextTick());
  Greet(servers, 0);
  const auto pulled = servers.Submit(batch.Make(OpKind::kLookup));
  servers.ReplyRows(servers.Next(), 1);
  EXPECT_TRUE((*pulled)->status.ok());
}

TEST(ClientRestart, AcknowledgementsOfLevelAppliedDoNotSurviveABoot) {
  const struct {
    TableId table;
    AckLevel ack;
    bool lost;
  } cases[] = {{TestTable(1).id(), AckLevel::kDefault, false},
               {TestTable(1).id(), AckLevel::kLogged, false},
               {TestTable(1).id(), AckLevel::kApplied, true},
               {AppliedTable().id(), AckLevel::kDefault, true},
               {AppliedTable().id(), AckLevel::kSynced, false}};
  for (const auto& c : cases) {
    ScriptedServers servers({1});
    servers.Connect();
    TestBatch batch({1}, 1);
    for (int i = 0; i < 3; ++i) {
      Operation push = batch.Make(OpKind::kUpdate, c.table);
      push.ack = c.ack;
      (void)servers.Submit(push);
      servers.Reply(servers.Next());
    }
    const auto open = servers.Submit(batch.Make(OpKind::kUpdate));
    const Sent push = servers.Next();
    servers.boots[0] = 1;
    servers.Reply(push, Unavailable("replaying"));
    EXPECT_EQ(open->has_value(), c.lost);
    if (!c.lost) continue;
    EXPECT_EQ((*open)->status.code(), StatusCode::kLost);
    EXPECT_THAT((*open)->status.message(),
                HasSubstr("restarted with what its log held: of shards 0..1023, 3 acknowledged "
                          "writes of this client at level 'applied' may be gone"));
    EXPECT_THAT((*open)->status.message(), HasSubstr("whether the write was applied is not known"));
    EXPECT_EQ((*servers.Submit(batch.Make(OpKind::kLookup)))->status.code(), StatusCode::kLost);
  }
}

TEST(ClientRestart, WhatASilentServerMayTakeWithItIsSaid) {
  for (const AckLevel ack : {AckLevel::kApplied, AckLevel::kLogged}) {
    ScriptedServers servers({1});
    servers.Connect();
    TestBatch batch({1}, 1);
    Operation push = batch.Make(OpKind::kUpdate);
    push.ack = ack;
    (void)servers.Submit(push);
    servers.Reply(servers.Next());
    const auto open = servers.Submit(batch.Make(OpKind::kLookup));
    while (!open->has_value() && servers.now < 20 * kSecond) {
      servers.Collect();
      servers.AdvanceTo(servers.core.NextTick());
    }
    ASSERT_TRUE(open->has_value());
    EXPECT_THAT((*open)->status.message(),
                HasSubstr(ack == AckLevel::kApplied
                              ? "if it has ended, 1 acknowledged write at level 'applied' may be "
                                "gone"
                              : "if it has ended, only its data folder can bring back 1 "
                                "acknowledged write"));
  }
}

TEST(ClientRestart, ARestartedServerThatHadAcknowledgedNothingTakesNothing) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1}, 1);
  const auto open = servers.Submit(batch.Make(OpKind::kLookup));
  servers.lineages[0] = 2;
  servers.Reply(servers.Next(), Lost("another life"));
  ASSERT_TRUE(open->has_value());
  EXPECT_THAT((*open)->status.message(), HasSubstr("with no acknowledged write of this client"));
}

TEST(ClientRestart, AnotherLineageIsALossWhateverWasLogged) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1}, 1);
  (void)servers.Submit(batch.Make(OpKind::kUpdate));
  servers.Reply(servers.Next());
  const auto open = servers.Submit(batch.Make(OpKind::kLookup));
  const Sent pull = servers.Next();
  servers.lineages[0] = 2;
  servers.Reply(pull, Lost("another life"));
  ASSERT_TRUE(open->has_value());
  EXPECT_THAT((*open)->status.message(), HasSubstr("is gone, with 1 acknowledged write of this"));
  EXPECT_EQ((*servers.Submit(batch.Make(OpKind::kLookup)))->status.code(), StatusCode::kLost);
}

TEST(ClientRestart, AServerThatReplaysIsAliveAndAskedAgainEverMoreRarely) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1}, 1);
  const auto pulled = servers.Submit(batch.Make(OpKind::kLookup));
  Sent pull = servers.Next();
  for (const int wait_ms : {100, 200, 400, 800, 1000, 1000, 1000, 1000, 1000, 1000}) {
    servers.Reply(pull, Unavailable("replaying, 10 %"));
    const TimeNs due = servers.now + wait_ms * kMillisecond;
    while (servers.now < due) {
      servers.Collect();
      for (const Sent& s : std::exchange(servers.sent, {})) {
        EXPECT_EQ(s.header().command, Command::kPing) << "too early";
      }
      servers.AdvanceTo(std::min(due, servers.core.NextTick()));
    }
    while (pull = servers.Next(), pull.header().command == Command::kPing) continue;
    ASSERT_EQ(pull.header().command, Command::kPull);
  }
  EXPECT_FALSE(pulled->has_value());
  servers.ReplyRows(pull, 5);
  EXPECT_TRUE((*pulled)->status.ok());
}

TEST(ClientRestart, AFullDiskIsWaitedForUntilTheDeadline) {
  for (const bool answered : {true, false}) {
    ScriptedServers servers({1});
    servers.Connect();
    TestBatch batch({1}, 1);
    Operation push = batch.Make(OpKind::kUpdate);
    push.deadline = kSecond;
    const auto pushed = servers.Submit(push);
    servers.Reply(servers.Next(), DiskFull("the log has no room"));
    servers.AdvanceTo(250 * kMillisecond - 1);
    EXPECT_TRUE(servers.Silent());
    servers.AdvanceTo(250 * kMillisecond);
    const Sent again = servers.Next();
    EXPECT_EQ(again.header().sequence, 1U);
    if (answered) servers.Reply(again, DiskFull("the log has no room"));
    servers.AdvanceTo(750 * kMillisecond);
    EXPECT_EQ(servers.Silent(), !answered);
    if (answered) servers.Reply(servers.Next(), DiskFull("the log has no room"));
    servers.AdvanceTo(kSecond);
    ASSERT_TRUE(pushed->has_value());
    EXPECT_EQ((*pushed)->status.code(), StatusCode::kDiskFull);
    EXPECT_THAT((*pushed)->status.message(), HasSubstr("DISK_FULL: the log has no room"));
    EXPECT_THAT((*pushed)->status.message(),
                HasSubstr(answered ? "lane 0: refused 3 times until the deadline"
                                   : "lane 0: no answer to 1 of 2 attempts in 1.0 s"));
    const bool unknown = (*pushed)->status.message().find(
                             "whether the write was applied is not known") != std::string::npos;
    EXPECT_EQ(unknown, !answered);
  }
}

TEST(ClientRestart, AnExpiredSessionEndsTheWritesToItsLaneAndNoReads) {
  ScriptedServers servers({1, 1});
  servers.Connect();
  TestBatch first({1}, 1), second({1}, 1), read({1}, 1);
  const auto pushed = servers.Submit(first.Make(OpKind::kUpdate));
  const auto waiting = servers.Submit(second.Make(OpKind::kErase));
  const auto pulled = servers.Submit(read.Make(OpKind::kLookup));
  servers.Reply(servers.Next(), SessionExpired("client 1-2 was forgotten"));
  EXPECT_EQ((*pushed)->status.code(), StatusCode::kSessionExpired);
  EXPECT_EQ((*waiting)->status.code(), StatusCode::kSessionExpired);
  const auto later = servers.Submit(first.Make(OpKind::kUpdate));
  EXPECT_EQ((*later)->status.code(), StatusCode::kSessionExpired);
  servers.ReplyRows(servers.Next(), 1);
  EXPECT_TRUE((*pulled)->status.ok());
}

// It replays, or its disk is too full for a cut that the greeting tells of.
TEST(ClientRestart, AServerThatIsNotReadyIsGreetedUntilItIs) {
  for (const Status& not_now : {Unavailable("not yet, 10 %"), DiskFull("not yet, 10 %")}) {
    ScriptedServers servers({1});
    Operation flush;
    flush.kind = OpKind::kFlush;
    flush.deadline = 3 * kSecond;
    const auto connected = servers.Submit(flush);
    servers.Reply(servers.Next(), not_now);
    ASSERT_FALSE(connected->has_value()) << not_now.ToString();
    servers.AdvanceTo(servers.core.NextTick());
    EXPECT_EQ(servers.Next().header().command, Command::kHello);
    servers.AdvanceTo(3 * kSecond);
    ASSERT_TRUE(connected->has_value());
    EXPECT_THAT((*connected)->status.message(),
                HasSubstr("server 0 (host0:7000) (not yet, 10 %) cannot serve yet"));
  }
}

}  // namespace
}  // namespace strata
