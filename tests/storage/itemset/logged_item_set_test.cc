// A collection that is killed, and what of it comes back: all that was acknowledged, nothing else
// than a prefix of what was done.
#include "storage/itemset/logged_item_set.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "tests/storage/itemset/expect_model.h"
#include "tests/storage/itemset/item_set_model.h"
#include "tests/storage/itemset/logged_changes.h"
#include "tests/support/sim_disk.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

using format::ItemChange;
using test::ItemSetModel;

const test::LoggedChanges kChanges(400);

ItemSetOptions Options(WorkPool& pool) {
  ItemSetOptions options;
  options.spec.attributes = {"price"};
  options.means = {SearchRates(), &pool, 1, &RealClock(), nullptr};
  options.tail = 2;  // so that a life has merges of all levels
  return options;
}

std::unique_ptr<WorkPool> Pool() {
  auto pool = WorkPool::Start("search", 0);
  EXPECT_TRUE(pool.ok());
  return std::move(*pool);
}

// The whole collection, and answers, beside the model after `last` records.
void ExpectModelOf(Lsn last, const ItemSet& set) { test::ExpectModel(kChanges.ModelOf(last), set); }

// In the child: goes on and tells each record that is acknowledged. Does not return.
[[noreturn]] void ChangeUntilKilled(const LogOptions& log, int told) {
  const auto pool = Pool();
  auto opened = LoggedItemSet::Open(log, Options(*pool));
  if (!opened.ok()) _exit(5);
  LoggedItemSet& set = **opened;
  while (true) {
    const auto lsn = set.Apply(kChanges.Of(set.log().appended() + 1));
    if (!lsn.ok()) _exit(6);
    if (*lsn % 3 != 0) continue;
    if (!set.Write().ok() || (*lsn % 60 == 0 && !set.Sync().ok())) _exit(6);
    if (write(told, &*lsn, sizeof(Lsn)) != sizeof(Lsn)) _exit(7);
  }
}

TEST(LoggedItemSet, WhatWasAcknowledgedSurvivesKillNine) {
  TempFolder folder;
  const LogOptions log{.disk = &RealDisk(),
                       .folder = folder.File("items"),
                       .boot_id = "boot",
                       .segment_bytes = 64 << 10};
  Random random(1);
  Lsn last = 0;
  for (int life = 0; life < 25 && !testing::Test::HasFailure(); ++life) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      ChangeUntilKilled(log, ends[1]);
    }
    close(ends[1]);
    Lsn told = 0;
    for (uint64_t i = 1 + random.Below(60); i > 0; --i) {
      if (read(ends[0], &told, sizeof(Lsn)) != sizeof(Lsn)) break;
    }
    kill(child, SIGKILL);
    Lsn later = 0;
    while (read(ends[0], &later, sizeof(Lsn)) == sizeof(Lsn)) told = later;
    close(ends[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    ASSERT_GT(told, last);
    const auto pool = Pool();
    const auto opened = LoggedItemSet::Open(log, Options(*pool));
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    last = (*opened)->replayed().last;
    ASSERT_GE(last, told);
    ExpectModelOf(last, (*opened)->set());
  }
}

TEST(LoggedItemSet, WhatWasSyncedSurvivesALossOfPower) {
  const auto pool = Pool();
  for (uint64_t seed = 0; seed < 30 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    SimDisk disk({.seed = seed});
    LogOptions log{.disk = &disk, .folder = "items", .boot_id = "", .segment_bytes = 16 << 10};
    Random random(seed);
    Lsn synced = 0;
    for (int life = 0; life < 4; ++life) {
      const auto opened = LoggedItemSet::Open(log, Options(*pool));
      ASSERT_TRUE(opened.ok()) << opened.status().ToString();
      LoggedItemSet& set = **opened;
      ASSERT_GE(set.replayed().last, synced);
      ExpectModelOf(set.replayed().last, set.set());
      for (uint64_t i = random.Below(200); i > 0; --i) {
        const auto lsn = set.Apply(kChanges.Of(set.log().appended() + 1));
        ASSERT_TRUE(lsn.ok()) << lsn.status().ToString();
        ASSERT_TRUE(random.Below(4) != 0 || set.Write().ok());
        if (random.Below(30) != 0) continue;
        ASSERT_TRUE(set.Write().ok() && set.Sync().ok());
        synced = *lsn;
      }
      disk.Crash();
      log.made = true;
    }
  }
}

TEST(LoggedItemSet, WhatIsRefusedIsNotLogged) {
  const auto pool = Pool();
  SimDisk disk;
  const LogOptions log{.disk = &disk, .folder = "items", .boot_id = ""};
  const auto opened = LoggedItemSet::Open(log, Options(*pool));
  ASSERT_TRUE(opened.ok());
  const std::vector<ItemChange> changes{{true, 1, {2}, {3}}, {true, 2, {2}, {}}};
  EXPECT_EQ((*opened)->Apply(changes).status().message(),
            "document 2 has 0 attributes; the collection has 1");
  EXPECT_EQ((*opened)->Apply({}).status().code(), StatusCode::kInvalid);
  EXPECT_EQ((*opened)->log().appended(), 0U);
  EXPECT_EQ((*opened)->set().Stats().documents, 0U);
}

TEST(LoggedItemSet, ALogOfSomethingElseIsNamed) {
  const auto pool = Pool();
  SimDisk disk;
  const LogOptions log{.disk = &disk, .folder = "items", .boot_id = ""};
  {
    auto opened = OpenLog(log, 0);
    ASSERT_TRUE(opened.ok());
    ASSERT_TRUE((*opened)->Append(RecordKind::kCut, {}).ok() && (*opened)->Write().ok());
  }
  EXPECT_EQ(LoggedItemSet::Open(log, Options(*pool)).status().message(),
            "items: record 1: expected changes of a collection (kind 6), found kind 4");
}

}  // namespace
}  // namespace strata
