// Several takers of one cluster's checkpoints at the same moment: each gets one of its own.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "ps/client/remote_checkpointer.h"
#include "tests/ps/client/cluster_fixture.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

constexpr int kTakers = 3;
constexpr int kRounds = 3;
constexpr int kKeys = 8;  // of each taker, so that all lanes hold some

TableSpec Counters() {
  TableSpec spec;
  spec.name = "counters";
  spec.dim = 1;
  return spec;
}

std::vector<Key> KeysOf(int taker) {
  std::vector<Key> keys;
  for (int i = 0; i < kKeys; ++i) keys.push_back(static_cast<Key>(100 * taker + i));
  return keys;
}

Status Write(RemoteStore& store, int taker, int round) {
  const std::vector<Key> keys = KeysOf(taker);
  const std::vector<float> values(keys.size(), static_cast<float>(round));
  TablePart part;
  part.table = Counters().id();
  part.keys = keys;
  part.in = values;
  Operation put;
  put.kind = OpKind::kAssign;
  put.parts = {part};
  return SubmitAndWait(store, put).status;
}

void TakeRounds(RemoteStore& store, int taker, std::atomic<int>& done) {
  RemoteCheckpointer checkpointer(store);
  for (int round = 1; round <= kRounds; ++round) {
    const Status wrote = Write(store, taker, round);
    ASSERT_TRUE(wrote.ok()) << wrote.ToString();
    const Attachment whose{"whose", fmt::format("{} {}", taker, round)};
    const TimeNs deadline = RealClock().Now() + 120 * kSecond;
    const auto taken = CutAndSave(checkpointer, false, {&whose, 1}, deadline, deadline);
    ASSERT_TRUE(taken.ok()) << taken.status().ToString();
    const auto kept = checkpointer.ReadAttachment(taken->number, "whose", deadline);
    EXPECT_EQ(kept.value(), whose.bytes);
    ++done;
  }
}

// What was acknowledged to a taker before it cut, and nothing that it wrote afterwards.
void ExpectRows(RemoteStore& store, int taker, int round) {
  const std::vector<Key> keys = KeysOf(taker);
  std::vector<float> rows(keys.size());
  TablePart part;
  part.table = Counters().id();
  part.keys = keys;
  part.out = rows;
  Operation pull;
  pull.parts = {part};
  ASSERT_TRUE(SubmitAndWait(store, pull).status.ok());
  EXPECT_EQ(rows, std::vector<float>(keys.size(), static_cast<float>(round)));
}

TEST(CheckpointTakers, EachGetsACheckpointOfItsOwnWithItsWritesAndAttachments) {
  const TempFolder folder;
  const TestServers servers(2, 2, false, folder.File("checkpoints"));
  const auto first = servers.Connect();
  ASSERT_TRUE(first->CreateTable(Counters()).ok());
  std::vector<std::unique_ptr<RemoteStore>> stores;
  for (int taker = 0; taker < kTakers; ++taker) stores.push_back(servers.Connect());
  std::atomic<int> done = 0;
  {
    std::vector<std::jthread> threads;
    for (int taker = 0; taker < kTakers; ++taker) {
      threads.emplace_back(
          [&, taker] { TakeRounds(*stores[static_cast<size_t>(taker)], taker, done); });
    }
  }
  ASSERT_EQ(done, kTakers * kRounds);
  RemoteCheckpointer all(*first);
  std::set<std::string> seen;
  const std::vector<CheckpointInfo> infos = all.List(kNever).value();
  for (const CheckpointInfo& info : infos) {
    SCOPED_TRACE(fmt::format("checkpoint {}", info.number));
    const std::string whose = all.ReadAttachment(info.number, "whose", kNever).value();
    EXPECT_TRUE(seen.insert(whose).second) << whose;
    const TestServers fresh(1, 1, false, folder.File("checkpoints"));
    const auto store = fresh.Connect();
    const Status restored = RemoteCheckpointer(*store).Restore(info.number, kNever);
    ASSERT_TRUE(restored.ok()) << restored.ToString();
    ExpectRows(*store, whose[0] - '0', whose[2] - '0');
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(kTakers * kRounds));
}

}  // namespace
}  // namespace strata
