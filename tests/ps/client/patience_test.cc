// How long a client that waits for servers does so: timeouts.server_lost says it of one that is
// away, timeouts.request of those that serve.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/ps/client/scripted_servers.h"

namespace strata {
namespace {

using ::testing::HasSubstr;
using wire::Command;

constexpr TimeNs kLost = 100 * kSecond;
constexpr TimeNs kRequest = 30 * kSecond;

ClientCoreOptions Patient() {
  ClientCoreOptions options;
  options.request_timeout = kRequest;
  options.server_lost_after = kLost;
  options.waits_for_servers = true;
  options.request_timeout_name = "timeouts.request";
  options.server_lost_name = "timeouts.server_lost";
  return options;
}

// A client with one pull under way.
class Waiting {
 public:
  explicit Waiting(std::vector<uint16_t> lanes_per_server = {1})
      : servers(std::move(lanes_per_server), Patient()) {
    servers.Connect();
    pulled = servers.Submit(batch.Make(OpKind::kLookup));
  }

  // Answers what is sent by `answer` until the pull has ended, or until `end`.
  void Run(TimeNs end, const std::function<void(const Sent&)>& answer) {
    while (!pulled->has_value() && servers.now < end) {
      servers.Collect();
      for (const Sent& sent : std::exchange(servers.sent, {})) answer(sent);
      servers.AdvanceTo(std::min(end, servers.core.NextTick()));
    }
  }

  TestBatch batch{{1}, 1};
  ScriptedServers servers;
  std::shared_ptr<std::optional<Outcome>> pulled;
};

void Nothing(const Sent&) {}

TEST(ClientPatience, ASilentServerIsWaitedForLongerThanARequest) {
  Waiting waiting;
  waiting.Run(kLost - kSecond, Nothing);
  EXPECT_FALSE(waiting.pulled->has_value());
  waiting.Run(kLost + 2 * kSecond, Nothing);
  ASSERT_TRUE(waiting.pulled->has_value());
  const Status status = (*waiting.pulled)->status;
  EXPECT_EQ(status.code(), StatusCode::kLost);
  EXPECT_THAT(status.message(), HasSubstr("longer than timeouts.server_lost allows"));
}

TEST(ClientPatience, ARequestToAServerThatServesEndsWithItsOwnTime) {
  Waiting waiting;
  waiting.Run(2 * kLost, [&](const Sent& sent) {
    if (sent.header().command == Command::kPing) waiting.servers.Reply(sent);
  });
  ASSERT_TRUE(waiting.pulled->has_value());
  EXPECT_EQ(waiting.servers.now, kRequest);
  EXPECT_EQ((*waiting.pulled)->status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT((*waiting.pulled)->status.message(), HasSubstr("(timeouts.request = 30.0 s)"));
}

TEST(ClientPatience, AServerThatComesBackInTimeIsUsed) {
  Waiting waiting;
  waiting.Run(kLost - kSecond, Nothing);
  waiting.Run(2 * kLost, [&](const Sent& sent) {
    if (sent.header().command == Command::kPull) return waiting.servers.ReplyRows(sent, 5);
    waiting.servers.Reply(sent);
  });
  ASSERT_TRUE(waiting.pulled->has_value());
  EXPECT_TRUE((*waiting.pulled)->status.ok()) << (*waiting.pulled)->status.ToString();
}

TEST(ClientPatience, ALaneThatRecoversIsWaitedForAsASilentServer) {
  Waiting waiting;
  const auto recovers = [&](const Sent& sent) {
    const bool ping = sent.header().command == Command::kPing;
    waiting.servers.Reply(sent, ping ? Status() : Unavailable("recovering: 37 %"));
  };
  waiting.Run(kLost - kSecond, recovers);
  EXPECT_FALSE(waiting.pulled->has_value());
  waiting.Run(2 * kLost, recovers);
  ASSERT_TRUE(waiting.pulled->has_value());
  EXPECT_LT(waiting.servers.now, kLost + 5 * kSecond);
  EXPECT_THAT((*waiting.pulled)->status.message(), HasSubstr("(timeouts.server_lost = 100.0 s)"));
  EXPECT_THAT((*waiting.pulled)->status.message(), HasSubstr("recovering: 37 %"));
}

TEST(ClientPatience, AnotherBootThatDoesNotServeIsGivenUpInTheEnd) {
  Waiting waiting;
  waiting.servers.boots[0] = 1;
  const auto recovers = [&](const Sent& sent) {
    waiting.servers.Reply(sent, Unavailable("recovering: 37 %"));
  };
  waiting.Run(kLost - 2 * kSecond, recovers);
  EXPECT_FALSE(waiting.pulled->has_value());
  waiting.Run(2 * kLost, recovers);
  ASSERT_TRUE(waiting.pulled->has_value());
  EXPECT_LT(waiting.servers.now, kLost + 5 * kSecond);
  EXPECT_EQ((*waiting.pulled)->status.code(), StatusCode::kLost);
  EXPECT_THAT((*waiting.pulled)->status.message(),
              HasSubstr("s, longer than timeouts.server_lost allows: UNAVAILABLE: recovering"));
}

// A step needs all servers: what one of them holds back waits for the other one.
TEST(ClientPatience, WhatAnotherServerHoldsBackWaitsToo) {
  Waiting waiting({1, 1});
  TestBatch keys_of_both({2, 3, 4, 5, 6, 7, 8, 9}, 1);
  const auto pulled = waiting.servers.Submit(keys_of_both.Make(OpKind::kLookup));
  waiting.Run(kLost - kSecond, [&](const Sent& sent) {
    const bool pings = sent.header().command == Command::kPing;
    if (pings && waiting.servers.ServerOf(sent.peer) == 0) waiting.servers.Reply(sent);
  });
  EXPECT_FALSE(pulled->has_value()) << (*pulled)->status.ToString();
}

TEST(ClientPatience, ADeadlineOfTheCallersOwnHolds) {
  ScriptedServers servers({1}, Patient());
  servers.Connect();
  TestBatch batch({1}, 1);
  Operation pull = batch.Make(OpKind::kLookup);
  pull.deadline = 10 * kSecond;
  const auto pulled = servers.Submit(std::move(pull));
  while (!pulled->has_value() && servers.now < kLost) {
    servers.Collect();
    servers.AdvanceTo(servers.core.NextTick());
  }
  EXPECT_EQ(servers.now, 10 * kSecond);
}

TEST(ClientPatience, ItSaysForWhichServerItWaitsAndSinceWhen) {
  Waiting waiting;
  EXPECT_TRUE(waiting.servers.core.Waits().empty());
  waiting.Run(20 * kSecond, Nothing);
  const std::vector<ServerWait> waits = waiting.servers.core.Waits();
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].name, "server 0 (host0:7000)");
  EXPECT_LT(waits[0].since, 2 * kSecond);
  EXPECT_EQ(waits[0].why, "it is silent");
  waiting.Run(kLost, [&](const Sent& sent) {
    if (sent.header().command == Command::kPull) return waiting.servers.ReplyRows(sent, 5);
    waiting.servers.Reply(sent);
  });
  EXPECT_TRUE(waiting.servers.core.Waits().empty());
}

}  // namespace
}  // namespace strata
