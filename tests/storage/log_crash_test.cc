// The log against a vector of records, under random appends, writes, syncs, trims and deaths of the
// process and the machine. What was written survives the process, what was synced the machine, and
// what comes back is always a beginning of what was appended.
#include <gtest/gtest.h>

#include "tests/storage/log_fixture.h"
#include "tests/support/sanitizers.h"
#include "tests/support/sim_disk.h"

namespace strata {
namespace {

using log_test::AppendRecord;
using log_test::Record;
using log_test::RecordOf;
using log_test::Replayed;

class CrashModel {
 public:
  explicit CrashModel(uint64_t seed) : random_(seed), disk_({.seed = seed}) {
    options_ = {.disk = &disk_,
                .folder = "data/lane-0",
                .lineage = Mix64(seed),
                .lane = 3,
                .boot_id = "boot 0",
                .segment_bytes = 4096 + random_.Below(8000)};
    record_bytes_max_ = random_.Chance(0.2) ? 6000 : 300;
  }

  void Run() {
    for (int life = 0; life < 8 && !testing::Test::HasFatalFailure(); ++life) {
      Recover();
      if (testing::Test::HasFatalFailure()) return;
      Live();
      // Either may come in the middle of a write that fails.
      synced_ = log_->synced();
      if (random_.Chance(0.5)) LosePower();
      log_.reset();
    }
    Recover();
  }

 private:
  // Starts that fail while they write again what a death left, or die soon after, and then perhaps
  // the power.
  void DieWhileOpening() {
    const Result<ReplaySummary> replayed =
        ReplayLog(options_, trimmed_, [](const LogRecord&) { return Status(); });
    ASSERT_TRUE(replayed.ok()) << replayed.status().ToString();
    if (random_.Chance(0.5)) disk_.FailAppend(1 + random_.Below(6));
    if (random_.Chance(0.5)) disk_.FailSync(1 + random_.Below(4));
    const bool opened = OpenLog(options_, replayed->last).ok();
    disk_.FailAppend(0);
    disk_.FailSync(0);
    if (opened) synced_ = must_have_ = replayed->last;
    if (opened) records_.resize(replayed->last);
    if (random_.Chance(0.5)) LosePower();
  }

  void Recover() {
    while (random_.Chance(0.3)) {
      DieWhileOpening();
      if (testing::Test::HasFatalFailure()) return;
    }
    const Replayed replayed = log_test::ReplayAll(options_, trimmed_);
    ASSERT_TRUE(replayed.summary.ok()) << replayed.summary.status().ToString();
    const Lsn last = replayed.summary->last;
    ASSERT_EQ(last, trimmed_ + replayed.records.size() - 1);
    ASSERT_GE(last, must_have_);
    ASSERT_LE(last, records_.size());
    for (Lsn lsn = trimmed_; lsn <= last; ++lsn) {
      ASSERT_EQ(replayed.records[lsn - trimmed_], records_[lsn - 1]) << "LSN " << lsn;
    }
    if (!torn_allowed_) {
      ASSERT_FALSE(replayed.summary->torn.has_value()) << replayed.summary->torn->reason;
    }
    records_.resize(last);
    Result<std::unique_ptr<WriteAheadLog>> log = OpenLog(options_, last);
    ASSERT_TRUE(log.ok()) << log.status().ToString();
    log_ = *std::move(log);
    EXPECT_EQ(log_->synced(), last);
    must_have_ = last;
    torn_allowed_ = false;
  }

  void Live() {
    if (random_.Chance(0.3)) disk_.FailAppend(1 + random_.Below(20));
    if (random_.Chance(0.3)) disk_.FailSync(1 + random_.Below(10));
    for (uint64_t step = random_.Below(120); step > 0; --step) {
      if (!Step().ok()) {
        torn_allowed_ = true;
        break;
      }
      EXPECT_EQ(log_->appended(), records_.size());
      EXPECT_LE(log_->written(), log_->appended());
      EXPECT_LE(log_->synced(), log_->written());
      must_have_ = log_->written();
    }
    must_have_ = log_->written();
    disk_.FailAppend(0);
    disk_.FailSync(0);
  }

  Status Step() {
    const uint64_t dice = random_.Below(100);
    if (dice < 60) {
      // Another salt for each try: a record that was lost must not be taken for its successor.
      const Record record = RecordOf(records_.size() + 1, random_.Next(), record_bytes_max_);
      const Result<Lsn> lsn = AppendRecord(*log_, record);
      STRATA_TRY(lsn.status());
      records_.push_back(record);
      EXPECT_EQ(*lsn, records_.size());
      return {};
    }
    if (dice < 85) return log_->Write();
    if (dice < 97) return log_->Sync();
    // Only what is durable elsewhere is trimmed.
    const Lsn lsn = 1 + random_.Below(log_->synced() + 1);
    trimmed_ = std::max(trimmed_, lsn);
    return log_->Trim(trimmed_);
  }

  void LosePower() {
    must_have_ = synced_;
    torn_allowed_ = true;
    disk_.Crash();
    options_.boot_id = fmt::format("boot {}", ++boots_);
  }

  Random random_;
  SimDisk disk_;
  LogOptions options_;
  size_t record_bytes_max_ = 0;
  std::unique_ptr<WriteAheadLog> log_;
  std::vector<Record> records_;  // records_[i] has LSN i + 1
  Lsn trimmed_ = 1;              // what came before may be gone
  Lsn must_have_ = 0;            // whatever comes back
  Lsn synced_ = 0;               // also when the power fails
  int boots_ = 0;
  bool torn_allowed_ = false;
};

TEST(LogCrashTest, WhatWasPromisedComesBackAndNothingElse) {
  for (uint64_t seed = 0; seed < (kSanitized ? 300 : 1500); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CrashModel(seed).Run();
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

}  // namespace
}  // namespace strata
