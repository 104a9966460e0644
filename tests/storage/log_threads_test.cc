// A lane that appends and writes while another thread syncs, over many segments.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/storage/log_fixture.h"
#include "tests/support/sim_disk.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

using log_test::AppendRecord;
using log_test::Record;
using log_test::RecordOf;

// Returns the records that were written; `synced_of` learns what the syncing thread was promised.
std::vector<Record> WriteWhileSyncing(const LogOptions& options, Lsn count,
                                      std::atomic<Lsn>* synced_of) {
  Result<std::unique_ptr<WriteAheadLog>> log = OpenLog(options, 0);
  EXPECT_TRUE(log.ok()) << log.status().ToString();
  std::atomic<bool> done = false;
  std::thread syncer([&] {
    while (!done.load()) {
      const Lsn written = synced_of->load();
      const Status status = (*log)->Sync();
      EXPECT_TRUE(status.ok()) << status.ToString();
      EXPECT_GE((*log)->synced(), written);
      synced_of->store((*log)->synced());
    }
  });
  std::vector<Record> records;
  for (Lsn lsn = 1; lsn <= count; ++lsn) {
    records.push_back(RecordOf(lsn, 4, 400));
    EXPECT_EQ(*AppendRecord(**log, records.back()), lsn);
    if (lsn % 5 == 0) {
      EXPECT_TRUE((*log)->Write().ok());
      EXPECT_LE((*log)->synced(), (*log)->written());
    }
    if (lsn % 500 == 0) {
      // As a checkpoint's cut: what lies behind it may be asked for only where it was synced.
      if ((*log)->synced() < lsn / 2) {
        EXPECT_TRUE((*log)->Sync().ok());
      }
      EXPECT_TRUE((*log)->Trim(lsn / 2).ok());
    }
  }
  done = true;
  syncer.join();
  return records;
}

TEST(LogThreadsTest, ASecondThreadSyncsAcrossSegments) {
  for (const bool real : {false, true}) {
    const TempFolder folder;
    SimDisk sim;
    LogOptions options = {
        .disk = &sim, .folder = folder.File("lane"), .boot_id = "one", .segment_bytes = 20'000};
    if (real) options.disk = &RealDisk();
    std::atomic<Lsn> synced = 0;
    const std::vector<Record> records = WriteWhileSyncing(options, 3000, &synced);
    if (!real) {
      sim.Crash();
      options.boot_id = "two";
    }
    const log_test::Replayed replayed = log_test::ReplayAll(options, 1500);
    ASSERT_TRUE(replayed.summary.ok()) << replayed.summary.status().ToString();
    EXPECT_GE(replayed.summary->last, real ? 3000 : synced.load());
    for (size_t i = 0; i < replayed.records.size(); ++i) {
      EXPECT_EQ(replayed.records[i], records[1499 + i]);
    }
  }
}

TEST(LogThreadsTest, AFailedSyncEndsTheWritingToo) {
  SimDisk disk;
  const LogOptions options = {
      .disk = &disk, .folder = "lane", .boot_id = "one", .segment_bytes = 20'000};
  Result<std::unique_ptr<WriteAheadLog>> log = OpenLog(options, 0);
  ASSERT_TRUE(log.ok());
  disk.FailSync(5);
  std::thread syncer([&] {
    while ((*log)->Sync().ok()) {
    }
  });
  Lsn lsn = 0;
  while (AppendRecord(**log, RecordOf(++lsn, 4, 100)).ok() && (*log)->Write().ok()) {
  }
  syncer.join();
  EXPECT_FALSE((*log)->Write().ok());
  EXPECT_LT((*log)->synced(), lsn);
}

}  // namespace
}  // namespace strata
