// Hints: sent beside everything else, once, and only where they are of use.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/ps/client/scripted_servers.h"

namespace strata {
namespace {

using wire::Command;

Operation Hint(const std::vector<Key>& keys) {
  Operation operation;
  operation.kind = OpKind::kPrefetch;
  operation.parts = {{.table = TestTable(1).id(), .keys = keys}};
  return operation;
}

std::vector<Key> SomeKeys() {
  std::vector<Key> keys(100);
  std::iota(keys.begin(), keys.end(), Key{0});
  return keys;
}

TEST(ClientHints, EachLaneIsSentItsKeysAndTheOperationIsDoneAtOnce) {
  ScriptedServers servers({2, 1});
  servers.Connect();
  const std::vector<Key> keys = SomeKeys();
  const auto done = servers.Submit(Hint(keys));
  ASSERT_TRUE(done->has_value());
  EXPECT_TRUE((*done)->status.ok());
  servers.Collect();
  ASSERT_EQ(servers.sent.size(), 3U);
  std::vector<Key> told;
  for (const Sent& hint : servers.sent) {
    EXPECT_EQ(hint.header().command, Command::kPrefetch);
    EXPECT_EQ(hint.header().name_hash(), static_cast<uint64_t>(TestTable(1).id()));
    const auto part = wire::ReadKeys(hint.message.payload[0], hint.header().count);
    ASSERT_TRUE(part.ok());
    for (const Key key : *part) {
      const wire::LaneName lane = servers.map.lanes[servers.map.owner[wire::ShardOf(key)]];
      EXPECT_EQ(hint.peer, "tcp://host" + std::to_string(lane.server) + ":" +
                               std::to_string(7001 + lane.lane));
      told.push_back(key);
    }
  }
  std::ranges::sort(told);
  EXPECT_EQ(told, keys);
}

TEST(ClientHints, NothingWaitsForThemAndTheyAreNeverRepeated) {
  ScriptedServers servers({1});
  servers.Connect();
  const std::vector<Key> keys = SomeKeys();
  TestBatch batch(keys, 1);
  const auto pushed = servers.Submit(batch.Make(OpKind::kUpdate));
  EXPECT_EQ(servers.Next().header().command, Command::kPush);
  (void)servers.Submit(Hint(keys));  // passes the push to its table
  const Sent hint = servers.Next();
  EXPECT_EQ(hint.header().command, Command::kPrefetch);
  servers.now += 30 * kSecond;
  servers.core.Tick(servers.now);
  servers.Collect();
  for (const Sent& sent : servers.sent) EXPECT_NE(sent.header().command, Command::kPrefetch);
  servers.sent.clear();
  servers.Reply(hint, NotFound("no such table"));  // no error of anything
  EXPECT_FALSE(pushed->has_value());
}

TEST(ClientHints, ALaneThatDoesNotAnswerIsSentFew) {
  ScriptedServers servers({1});
  servers.Connect();
  const std::vector<Key> keys = SomeKeys();
  for (int i = 0; i < 20; ++i) (void)servers.Submit(Hint(keys));
  servers.Collect();
  EXPECT_EQ(servers.sent.size(), client::Hints::kUnansweredMax);
  servers.Reply(servers.Next());
  for (int i = 0; i < 20; ++i) (void)servers.Submit(Hint(keys));
  servers.Collect();
  EXPECT_EQ(servers.sent.size(), client::Hints::kUnansweredMax);
  servers.now += client::Hints::kLostAfter;  // the answers are lost
  servers.sent.clear();
  (void)servers.Submit(Hint(keys));
  EXPECT_FALSE(servers.Silent());
}

TEST(ClientHints, ALaneThatHoldsAllInMemoryIsSentNoMore) {
  ScriptedServers servers({1, 1});
  servers.Connect();
  const std::vector<Key> keys = SomeKeys();
  (void)servers.Submit(Hint(keys));
  const Sent first = servers.Next();
  const Sent second = servers.Next();
  wire::Header header = wire::ReplyHeader(first.header(), servers.Incarnation(0));
  header.flags |= wire::kFlagDone;
  servers.Deliver(first.peer, wire::Seal(header, {}));
  servers.Reply(second);
  (void)servers.Submit(Hint(keys));
  const Sent third = servers.Next();
  EXPECT_EQ(third.peer, second.peer);
  EXPECT_TRUE(servers.Silent());
  header = wire::ReplyHeader(third.header(), servers.Incarnation(1));
  header.flags |= wire::kFlagDone;
  servers.Deliver(third.peer, wire::Seal(header, {}));
  (void)servers.Submit(Hint(keys));
  EXPECT_TRUE(servers.Silent());
}

}  // namespace
}  // namespace strata
