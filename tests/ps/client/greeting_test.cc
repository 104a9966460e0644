// How a client meets its servers, and what it refuses.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ps/client/scripted_servers.h"

namespace strata {
namespace {

using ::testing::HasSubstr;
using wire::Command;

Operation Flush() {
  Operation operation;
  operation.kind = OpKind::kFlush;
  return operation;
}

TEST(ClientGreeting, HelloThenShardMapOfEveryServer) {
  ScriptedServers servers({1, 2});
  const auto flushed = servers.Submit(Flush());
  for (uint16_t i = 0; i < 2; ++i) {
    const Sent hello = servers.Next();
    EXPECT_EQ(hello.peer, "tcp://host" + std::to_string(i) + ":7000");
    EXPECT_EQ(hello.header().command, Command::kHello);
    EXPECT_EQ(hello.header().cluster_id, 5U);
    EXPECT_EQ(hello.header().client_lo, 2U);
    servers.Reply(hello, {}, {EncodeHelloReply(servers.HelloOf(i))});
    const Sent map = [&] {
      servers.Collect();
      Sent last = std::move(servers.sent.back());
      servers.sent.pop_back();
      return last;
    }();
    EXPECT_EQ(map.header().command, Command::kShardMap);
    EXPECT_FALSE(flushed->has_value());
    servers.Reply(map, {}, {EncodeShardMap(servers.map)});
  }
  for (int i = 0; i < 2; ++i) {
    const Sent list = servers.Next();
    EXPECT_EQ(list.header().command, Command::kListTables);
    EXPECT_FALSE(flushed->has_value());
    servers.Reply(list, {}, {servers.GreetingReply(list)});
  }
  ASSERT_TRUE(flushed->has_value());
  EXPECT_TRUE((*flushed)->status.ok());
}

// A server that dies once it has greeted is as far away as one that never did.
TEST(ClientGreeting, WhoDoesNotListItsTablesIsNamed) {
  ScriptedServers servers({1, 1});
  Operation flush = Flush();
  flush.deadline = 2 * kSecond;
  const auto flushed = servers.Submit(std::move(flush));
  for (int i = 0; i < 2; ++i)
    servers.Reply(servers.Next(), {},
                  {EncodeHelloReply(servers.HelloOf(static_cast<uint16_t>(i)))});
  for (int i = 0; i < 2; ++i) servers.Reply(servers.Next(), {}, {EncodeShardMap(servers.map)});
  const Sent list = servers.Next();
  EXPECT_EQ(list.header().command, Command::kListTables);
  servers.Reply(list, {}, {servers.GreetingReply(list)});
  while (!flushed->has_value()) servers.AdvanceTo(servers.core.NextTick());
  EXPECT_EQ((*flushed)->status.code(), StatusCode::kLost);
  const char* silent =
      list.peer == "tcp://host0:7001" ? "server 1 (host1:7000)" : "server 0 (host0:7000)";
  EXPECT_THAT((*flushed)->status.message(),
              HasSubstr(fmt::format("no answer from {}: see", silent)));
}

TEST(ClientGreeting, IsRepeatedUntilAnswered) {
  ScriptedServers servers({1});
  (void)servers.Submit(Flush());
  const Sent first = servers.Next();
  servers.AdvanceTo(servers.core.NextTick());
  const Sent second = servers.Next();
  EXPECT_EQ(second.header().command, Command::kHello);
  EXPECT_NE(second.header().request_id, first.header().request_id);
  // The reply to the first attempt comes late and is as good.
  servers.Reply(first, {}, {EncodeHelloReply(servers.HelloOf(0))});
  EXPECT_EQ(servers.Next().header().command, Command::kShardMap);
}

// What the client's first operation ends with when the one server answers so.
Status EndOf(const std::function<void(ScriptedServers&, const Sent&)>& answer_hello,
             std::vector<uint16_t> lanes = {1}) {
  ScriptedServers servers(std::move(lanes));
  const auto flushed = servers.Submit(Flush());
  answer_hello(servers, servers.Next());
  if (!flushed->has_value()) return Internal("the client goes on");
  // Whatever comes later ends alike.
  const auto later = servers.Submit(Flush());
  EXPECT_EQ((*later)->status.code(), (*flushed)->status.code());
  return (*flushed)->status;
}

TEST(ClientGreeting, AServerOfAnotherClusterOrVersionIsRefused) {
  Status status = EndOf([](ScriptedServers& servers, const Sent& hello) {
    servers.Reply(hello, Refused("this server belongs to cluster 7"));
  });
  EXPECT_EQ(status.code(), StatusCode::kRefused);
  EXPECT_THAT(status.message(), HasSubstr("server 0 (host0:7000): this server belongs"));

  status = EndOf([](ScriptedServers& servers, const Sent& hello) {
    wire::Header header = wire::ReplyHeader(hello.header(), 100);
    header.version = 9;
    servers.Deliver(hello.peer, wire::Seal(header, {Frame()}));
  });
  EXPECT_EQ(status.code(), StatusCode::kRefused);
  EXPECT_THAT(status.message(), HasSubstr("protocol version 9"));
}

TEST(ClientGreeting, AServerAtAnotherPlaceOfTheMachineListIsNamed) {
  const Status status = EndOf(
      [](ScriptedServers& servers, const Sent& hello) {
        servers.Reply(hello, {}, {EncodeHelloReply(servers.HelloOf(1))});
      },
      {1, 1});
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_THAT(status.message(), HasSubstr("server 1 of 2, but here it is server 0 of 2"));
}

TEST(ClientGreeting, AShardMapMustFitTheServers) {
  for (const std::vector<uint16_t>& wrong : {std::vector<uint16_t>{2}, {1, 1}, {1, 1, 1}}) {
    const Status status = EndOf([&](ScriptedServers& servers, const Sent& hello) {
      servers.Reply(hello, {}, {EncodeHelloReply(servers.HelloOf(0))});
      const wire::ShardMap map = wire::MakeShardMap(wrong).value();
      servers.Reply(servers.Next(), {}, {EncodeShardMap(map)});
    });
    EXPECT_EQ(status.code(), StatusCode::kInvalid);
    EXPECT_THAT(status.message(), HasSubstr("shard map"));
  }
}

TEST(ClientGreeting, ServersMustAgreeOnTheShardMap) {
  ScriptedServers servers({1, 1});
  const auto flushed = servers.Submit(Flush());
  wire::ShardMap other = servers.map;
  std::swap(other.owner[0], other.owner[wire::kShards - 1]);
  servers.Collect();
  for (const Sent& hello : std::exchange(servers.sent, {})) {
    servers.Reply(hello, {}, {EncodeHelloReply(servers.HelloOf(servers.ServerOf(hello.peer)))});
  }
  servers.Reply(servers.Next(), {}, {EncodeShardMap(servers.map)});
  servers.Reply(servers.Next(), {}, {EncodeShardMap(other)});
  ASSERT_TRUE(flushed->has_value());
  EXPECT_THAT((*flushed)->status.message(), HasSubstr("disagree about the shard map"));
}

}  // namespace
}  // namespace strata
