// Which version of the protocol a client speaks with each server, what its requests say of names
// and boots, and how it notices that a copy of a data folder is served.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ps/client/scripted_servers.h"

namespace strata {
namespace {

using ::testing::HasSubstr;
using wire::Command;

bool IsGreeting(Command command) {
  return command == Command::kHello || command == Command::kShardMap;
}

// Answers what a greeting asks; anything else comes back.
std::vector<Sent> AnswerGreetings(ScriptedServers& servers) {
  std::vector<Sent> others;
  for (int i = 0; i < 3; ++i) {
    servers.Collect();
    for (const Sent& sent : std::exchange(servers.sent, {})) {
      if (IsGreeting(sent.header().command)) {
        servers.Reply(sent, {}, {servers.GreetingReply(sent)});
      } else {
        others.push_back(sent);
      }
    }
  }
  return others;
}

// Lets the server answer the next ping as the boot that it is now.
void LetBeHeard(ScriptedServers& servers) {
  while (servers.now < 10 * kSecond) {
    servers.AdvanceTo(servers.core.NextTick());
    servers.Collect();
    for (const Sent& sent : std::exchange(servers.sent, {})) {
      if (sent.header().command == Command::kPing) return servers.Reply(sent);
    }
  }
  ADD_FAILURE() << "no ping";
}

TEST(ClientVersions, EachServerIsSpokenToInTheNewestVersionThatBothKnow) {
  ScriptedServers servers({1, 1});
  servers.versions = {1, 2};
  servers.core.Tick(servers.now);
  for (const Sent& hello : {servers.Next(), servers.Next()}) {
    EXPECT_EQ(hello.header().version, wire::kVersionMin);
    servers.Reply(hello, {}, {servers.GreetingReply(hello)});
  }
  for (int i = 0; i < 2; ++i) {  // the maps, then the tables
    for (const Sent& sent : {servers.Next(), servers.Next()}) {
      EXPECT_EQ(sent.header().version, servers.versions[servers.ServerOf(sent.peer)]);
      servers.Reply(sent, {}, {servers.GreetingReply(sent)});
    }
  }
  ASSERT_TRUE(servers.core.connected());
  TestBatch batch({1, 2, 3, 4, 5, 6, 7, 8}, 1);
  const auto done = servers.Submit(batch.Make(OpKind::kUpdate));
  for (const Sent& push : {servers.Next(), servers.Next()}) {
    const uint16_t version = servers.versions[servers.ServerOf(push.peer)];
    EXPECT_EQ(push.header().version, version);
    const auto id = static_cast<uint64_t>(TestTable(1).id());
    EXPECT_EQ(push.header().name_hash(), version == 1 ? wire::ShortId(id) : id);
    servers.Reply(push);
  }
  ASSERT_TRUE(done->has_value());
  EXPECT_TRUE((*done)->status.ok()) << (*done)->status.ToString();
}

TEST(ClientVersions, AServerWithoutACommonVersionIsRefused) {
  ScriptedServers servers({1});
  TestBatch batch({1}, 1);
  const auto done = servers.Submit(batch.Make(OpKind::kUpdate));
  const Sent hello = servers.Next();
  wire::HelloReply reply = servers.HelloOf(0);
  reply.version_min = reply.version_max = wire::kVersion + 1;
  servers.Reply(hello, {}, {EncodeHelloReply(reply)});
  ASSERT_TRUE(done->has_value());
  EXPECT_EQ((*done)->status.code(), StatusCode::kRefused);
  EXPECT_THAT((*done)->status.message(), HasSubstr("speaks protocol versions 3 to 3"));
}

TEST(ClientVersions, ABootOfAnOlderReleaseIsGoneOnWithInItsVersion) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1}, 1);
  const auto done = servers.Submit(batch.Make(OpKind::kUpdate));
  const Sent push = servers.Next();
  EXPECT_EQ(push.header().version, 2);
  servers.boots[0] = 1;
  servers.versions[0] = 1;
  // As that release answers what it cannot read.
  wire::Header unread = push.header();
  unread.version = 1;
  servers.Deliver(push.peer, wire::MakeReply(unread, servers.Incarnation(0),
                                             Refused("protocol version 2 is not spoken here"), {}));
  EXPECT_FALSE(done->has_value());
  const std::vector<Sent> again = AnswerGreetings(servers);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].header().version, 1);
  EXPECT_EQ(again[0].header().sequence, push.header().sequence);
  servers.Reply(again[0]);
  ASSERT_TRUE(done->has_value());
  EXPECT_TRUE((*done)->status.ok()) << (*done)->status.ToString();
}

TEST(ClientVersions, TheSameBootWithAnotherNonceIsLost) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1}, 1);
  const auto first = servers.Submit(batch.Make(OpKind::kUpdate));
  servers.Reply(servers.Next());
  ASSERT_TRUE((*first)->status.ok());
  const auto second = servers.Submit(batch.Make(OpKind::kUpdate));
  servers.nonces[0] = 0x200;
  servers.Reply(servers.Next());
  ASSERT_TRUE(second->has_value());
  EXPECT_EQ((*second)->status.code(), StatusCode::kLost);
  EXPECT_THAT((*second)->status.message(), HasSubstr("another copy of its data folder"));
  EXPECT_THAT((*second)->status.message(), HasSubstr("1 acknowledged write"));
}

TEST(ClientVersions, ALaterBootIsAskedWhetherItRemembersTheGreetedOne) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1}, 1);
  const auto done = servers.Submit(batch.Make(OpKind::kUpdate));
  servers.Next();
  const uint64_t greeted = servers.Incarnation(0);
  servers.boots[0] = 2;
  servers.nonces[0] = 0x300;
  LetBeHeard(servers);
  const Sent hello = servers.Next();
  servers.Reply(hello, {}, {servers.GreetingReply(hello)});
  const Sent map = servers.Next();
  ASSERT_EQ(map.header().command, Command::kShardMap);
  EXPECT_EQ(map.header().incarnation, greeted);
  EXPECT_EQ(map.header().boot_nonce, 0x100U);
  servers.Reply(map, Lost("it serves another copy of its data folder"));
  ASSERT_TRUE(done->has_value());
  EXPECT_EQ((*done)->status.code(), StatusCode::kLost);
  EXPECT_THAT((*done)->status.message(), HasSubstr("another copy"));
}

}  // namespace
}  // namespace strata
