// Leave: a client that ends tells the lanes it wrote to, unless it is owed an outcome there.
#include <gtest/gtest.h>

#include "tests/ps/client/scripted_servers.h"

namespace strata {
namespace {

TEST(ClientLeave, TellsTheLanesThatItWroteToAndThatOweItNothing) {
  ScriptedServers servers({3});
  servers.Connect();
  const auto keys_of = [&](uint16_t lane) {
    for (Key key = 1;; ++key) {
      if (servers.map.LaneOf(key) == lane) return std::vector<Key>{key};
    }
  };
  TestBatch written(keys_of(0), 1), owed(keys_of(1), 1), read(keys_of(2), 1);
  (void)servers.Submit(written.Make(OpKind::kUpdate));
  servers.Reply(servers.Next());
  (void)servers.Submit(owed.Make(OpKind::kUpdate));
  EXPECT_EQ(servers.Next().header().command, wire::Command::kPush);
  (void)servers.Submit(read.Make(OpKind::kLookup));
  EXPECT_EQ(servers.Next().header().command, wire::Command::kPull);
  TestBatch late(keys_of(2), 1);
  (void)servers.Submit(late.Make(OpKind::kLookup));  // it has not left the core yet
  servers.core.Leave();
  const Sent leave = servers.Next();
  EXPECT_EQ(leave.header().command, wire::Command::kLeave);
  EXPECT_EQ(leave.header().client_lo, 2U);
  EXPECT_EQ(leave.peer, "tcp://host0:7001");
  EXPECT_TRUE(servers.Silent());
}

}  // namespace
}  // namespace strata
