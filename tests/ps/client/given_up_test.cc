// Writes that were given up: a copy that is still under way must not undo what came after them.
#include <gtest/gtest.h>

#include "tests/ps/client/scripted_servers.h"

namespace strata {
namespace {

// Sequence 1 waits for its answer, so that the lane cannot be told that 2 is settled.
TEST(ClientGivenUp, AWriteToTheSameTableWaitsUntilItIsSettled) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1}, 1);
  (void)servers.Submit(batch.Make(OpKind::kUpdate, OtherTable().id()));
  const Sent other = servers.Next();
  Operation hurried = batch.Make(OpKind::kAssign);
  hurried.deadline = kSecond / 2;
  const auto given_up = servers.Submit(hurried);
  EXPECT_EQ(servers.Next().header().sequence, 2U);
  servers.AdvanceTo(kSecond / 2);
  ASSERT_TRUE(given_up->has_value());
  EXPECT_EQ((*given_up)->status.code(), StatusCode::kDeadlineExceeded);
  (void)servers.Submit(batch.Make(OpKind::kAssign));
  EXPECT_TRUE(servers.Silent());
  (void)servers.Submit(batch.Make(OpKind::kUpdate, OtherTable().id()));
  EXPECT_TRUE(servers.Silent());  // behind the first one
  servers.Reply(other);
  const Sent next = servers.Next();
  EXPECT_EQ(next.header().settled_below, 3U);
  EXPECT_EQ(servers.Next().header().settled_below, 3U);
  EXPECT_TRUE(servers.Silent());
}

TEST(ClientGivenUp, OtherTablesAndReadsGoOn) {
  ScriptedServers servers({1});
  servers.Connect();
  TestBatch batch({1}, 1);
  Operation hurried = batch.Make(OpKind::kAssign);
  hurried.deadline = kSecond / 4;
  (void)servers.Submit(hurried);
  (void)servers.Next();
  (void)servers.Submit(batch.Make(OpKind::kUpdate, OtherTable().id()));
  const Sent other = servers.Next();
  servers.AdvanceTo(kSecond / 4);
  (void)servers.Submit(batch.Make(OpKind::kLookup));
  EXPECT_EQ(servers.Next().header().command, wire::Command::kPull);
  servers.Reply(other);
  (void)servers.Submit(batch.Make(OpKind::kUpdate, OtherTable().id()));
  EXPECT_EQ(servers.Next().header().sequence, 3U);
}

}  // namespace
}  // namespace strata
