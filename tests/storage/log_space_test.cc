// Room: segments that are reserved ahead, full disks and limits that nothing is lost to, trimming,
// and errors that are final.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/storage/log_fixture.h"
#include "tests/support/sim_disk.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

using log_test::AppendRecord;
using log_test::Record;
using log_test::RecordOf;
using log_test::ReplayAll;
using log_test::Replayed;
using log_test::Segments;
using testing::HasSubstr;

constexpr uint64_t kSegmentBytes = 8192;

Record Writes(size_t bytes) { return {RecordKind::kWrites, std::vector<std::byte>(bytes)}; }

class LogSpaceTest : public testing::Test {
 protected:
  void Open(Lsn last = 0) {
    log_.reset();
    Result<std::unique_ptr<WriteAheadLog>> log = OpenLog(options_, last);
    ASSERT_TRUE(log.ok()) << log.status().ToString();
    log_ = *std::move(log);
  }

  // Appends records of 300 bytes until there is no room; at most 1,000.
  Status Fill() {
    for (int i = 0; i < 1000; ++i) {
      STRATA_TRY(AppendRecord(*log_, Writes(300)).status());
      STRATA_TRY(log_->Write());
      if (sync_) STRATA_TRY(log_->Sync());
    }
    return {};
  }

  SimDisk disk_;
  LogOptions options_ = {
      .disk = &disk_, .folder = "lane", .boot_id = "boot", .segment_bytes = kSegmentBytes};
  std::unique_ptr<WriteAheadLog> log_;
  bool sync_ = false;
};

TEST_F(LogSpaceTest, AFullDiskIsMetBeforeAnythingIsWrittenAndForgottenOnceThereIsRoom) {
  for (const bool sync : {false, true}) {
    sync_ = sync;
    options_.folder = sync ? "synced" : "written";
    disk_.SetCapacity(disk_.bytes_used() + 5 * kSegmentBytes + 1000);
    Open();
    for (int round = 0; round < 3; ++round) {
      const Status full = Fill();
      EXPECT_EQ(full.code(), StatusCode::kDiskFull) << full.ToString();
      EXPECT_THAT(full.message(), HasSubstr("No space left on device"));
      const Lsn last = log_->appended();
      EXPECT_GT(last, 20u);
      // Nothing is half done: the log goes on as if nobody had asked.
      EXPECT_EQ(AppendRecord(*log_, Writes(300)).status().code(), StatusCode::kDiskFull);
      EXPECT_EQ(log_->appended(), last);
      ASSERT_TRUE(log_->Write().ok());
      ASSERT_TRUE(log_->Sync().ok());
      EXPECT_EQ(log_->synced(), last);
      EXPECT_EQ(ReplayAll(options_, last).summary->last, last);
      // A checkpoint can still be begun, and the trimming behind it makes room.
      const Result<Lsn> cut = log_->Append(RecordKind::kCut, {});
      ASSERT_TRUE(cut.ok()) << cut.status().ToString();
      ASSERT_TRUE(log_->Write().ok());
      if (round == 0) {
        ASSERT_TRUE(log_->Trim(*cut).ok());
        EXPECT_EQ(Segments(options_).size(), 1u);
      } else {
        disk_.SetCapacity(disk_.bytes_used() + 4 * kSegmentBytes);
      }
      ASSERT_EQ(*AppendRecord(*log_, Writes(300)), *cut + 1);
    }
    log_.reset();
  }
}

// Also when the log has one segment only, which the cut would else keep.
TEST_F(LogSpaceTest, ACutOnAFullDiskLetsAllBeforeItGo) {
  sync_ = true;
  disk_.SetCapacity(kSegmentBytes + 4096);
  Open();
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(Fill().code(), StatusCode::kDiskFull);
    disk_.SetCapacity(disk_.bytes_used());
    const Result<Lsn> cut = log_->Append(RecordKind::kCut, {});
    ASSERT_TRUE(cut.ok()) << cut.status().ToString();
    ASSERT_TRUE(log_->Write().ok());
    ASSERT_TRUE(log_->Sync().ok());
    ASSERT_TRUE(log_->Trim(*cut).ok());
    EXPECT_LE(disk_.bytes_used(), 2 * 4096u);
    EXPECT_EQ(Segments(options_).front().first, *cut);
    disk_.SetCapacity(UINT64_MAX);
    EXPECT_TRUE(log_->LookForRoom().ok());
    disk_.SetCapacity(disk_.bytes_used() + 4096);
  }
  EXPECT_EQ(ReplayAll(options_, log_->appended()).summary->last, log_->appended());
}

TEST_F(LogSpaceTest, OpenedOnAFullDiskItTakesNothingUntilThereIsRoom) {
  Open();
  ASSERT_TRUE(AppendRecord(*log_, Writes(300)).ok());
  ASSERT_TRUE(log_->Write().ok());
  for (int life = 0; life < 3; ++life) {
    disk_.SetCapacity(200);
    Open(1);
    const uint64_t used = disk_.bytes_used();
    for (const RecordKind kind : {RecordKind::kWrites, RecordKind::kCut, RecordKind::kWrites}) {
      const Status full = log_->Append(kind, {}).status();
      EXPECT_EQ(full.code(), StatusCode::kDiskFull) << full.ToString();
      EXPECT_THAT(full.message(), HasSubstr("No space left on device"));
    }
    EXPECT_EQ(log_->LookForRoom().code(), StatusCode::kDiskFull);
    EXPECT_TRUE(log_->Write().ok());
    EXPECT_TRUE(log_->Sync().ok());
    EXPECT_TRUE(log_->Trim(1).ok());
    EXPECT_EQ(log_->appended(), 1u);
    EXPECT_EQ(log_->written(), 1u);
    EXPECT_EQ(log_->synced(), 1u);
    EXPECT_EQ(disk_.bytes_used(), used);
    EXPECT_EQ(ReplayAll(options_).summary->last, 1u);
  }
  disk_.SetCapacity(UINT64_MAX);
  EXPECT_TRUE(log_->LookForRoom().ok());
  EXPECT_EQ(*AppendRecord(*log_, Writes(1)), 2u);
  ASSERT_TRUE(log_->Write().ok());
  ASSERT_TRUE(log_->Sync().ok());
  EXPECT_EQ(log_->synced(), 2u);
  EXPECT_EQ(ReplayAll(options_).summary->last, 2u);
}

// Killed when the disk was full, it makes durable what it had written where it lies, and what was
// kept for cuts is enough for the segment that a checkpoint, and so room, begins with.
TEST_F(LogSpaceTest, AfterADeathOnAFullDiskACheckpointMakesRoom) {
  options_.segment_bytes = 1 << 18;
  disk_.SetCapacity(options_.segment_bytes);
  Open();
  EXPECT_EQ(Fill().code(), StatusCode::kDiskFull);
  const Lsn last = log_->appended();
  EXPECT_EQ(log_->synced(), 0u);
  EXPECT_EQ(disk_.bytes_used(), options_.segment_bytes);
  for (int life = 0; life < 3; ++life) {
    Open(last);
    EXPECT_EQ(log_->synced(), last);
    EXPECT_LE(disk_.bytes_used(), options_.segment_bytes);
  }
  disk_.Crash();
  ASSERT_EQ(ReplayAll(options_).summary->last, last);
  Open(last);
  const Result<Lsn> cut = log_->Append(RecordKind::kCut, {});
  ASSERT_TRUE(cut.ok()) << cut.status().ToString();
  ASSERT_TRUE(log_->Write().ok());
  ASSERT_TRUE(log_->Sync().ok());
  EXPECT_EQ(Fill().code(), StatusCode::kDiskFull);
  ASSERT_TRUE(log_->Trim(*cut).ok());
  EXPECT_LT(disk_.bytes_used(), 20'000u);
  disk_.SetCapacity(disk_.bytes_used() + 2 * options_.segment_bytes);
  EXPECT_TRUE(AppendRecord(*log_, Writes(300)).ok());
  EXPECT_TRUE(log_->LookForRoom().ok());
}

// One sync has failed, so that the kernel takes for written what is not, in all segments.
TEST_F(LogSpaceTest, WhatAFailedSyncDroppedIsWrittenAgain) {
  Open();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(AppendRecord(*log_, Writes(300)).ok());
    ASSERT_TRUE(log_->Write().ok());
    if (i == 4) {
      ASSERT_TRUE(log_->Sync().ok());
    }
  }
  const std::vector<SegmentFile> segments = Segments(options_);
  ASSERT_EQ(segments.size(), 3u);
  disk_.FailSync(1);
  ASSERT_FALSE(log_->Sync().ok());
  Open(50);
  EXPECT_EQ(log_->synced(), 50u);
  log_.reset();
  disk_.Crash();
  options_.boot_id = "another boot";
  const Replayed replayed = ReplayAll(options_);
  ASSERT_TRUE(replayed.summary.ok()) << replayed.summary.status().ToString();
  EXPECT_EQ(replayed.summary->last, 50u);
}

TEST_F(LogSpaceTest, WithoutRoomForASegmentASmallOneIsBegun) {
  options_.segment_bytes = 1 << 20;
  Open();
  ASSERT_TRUE(AppendRecord(*log_, Writes(300)).ok());
  ASSERT_TRUE(log_->Write().ok());
  disk_.SetCapacity(70'000);
  Open(1);
  EXPECT_TRUE(log_->LookForRoom().ok());
  EXPECT_EQ(Fill().code(), StatusCode::kDiskFull);
  EXPECT_EQ(log_->LookForRoom().code(), StatusCode::kDiskFull);
  EXPECT_GT(log_->appended(), 100u);
  // A checkpoint can be begun.
  const Result<Lsn> cut = log_->Append(RecordKind::kCut, {});
  ASSERT_TRUE(cut.ok()) << cut.status().ToString();
  EXPECT_EQ(AppendRecord(*log_, Writes(300)).status().code(), StatusCode::kDiskFull);
  disk_.SetCapacity(UINT64_MAX);
  EXPECT_EQ(*AppendRecord(*log_, Writes(300)), *cut + 1);
  EXPECT_TRUE(log_->LookForRoom().ok());
  ASSERT_TRUE(log_->Write().ok());
  EXPECT_EQ(ReplayAll(options_).summary->last, *cut + 1);
}

// A segment holds a few large records. The checkpoint lets all of it go, and what others have taken
// meanwhile leaves less than a whole one.
TEST_F(LogSpaceTest, ACheckpointMakesRoomForLargeRecordsAlsoWithoutRoomForAWholeSegment) {
  options_.segment_bytes = 1 << 20;
  disk_.SetCapacity(options_.segment_bytes + 100'000);
  Open();
  for (int round = 0; round < 3; ++round) {
    Status full;
    for (int i = 0; i < 10 && full.ok(); ++i) {
      full = AppendRecord(*log_, Writes(200'000)).status();
      ASSERT_TRUE(log_->Write().ok());
      ASSERT_TRUE(log_->Sync().ok());
    }
    EXPECT_EQ(full.code(), StatusCode::kDiskFull) << full.ToString();
    EXPECT_EQ(log_->LookForRoom().code(), StatusCode::kDiskFull);
    const Result<Lsn> cut = log_->Append(RecordKind::kCut, {});
    ASSERT_TRUE(cut.ok()) << cut.status().ToString();
    ASSERT_TRUE(log_->Write().ok());
    ASSERT_TRUE(log_->Sync().ok());
    ASSERT_TRUE(log_->Trim(*cut).ok());
    EXPECT_LT(disk_.bytes_used(), 20'000u);
    disk_.SetCapacity(disk_.bytes_used() + 600'000);
    EXPECT_TRUE(log_->LookForRoom().ok());
    EXPECT_EQ(*AppendRecord(*log_, Writes(200'000)), *cut + 1);
    ASSERT_TRUE(log_->Write().ok());
    EXPECT_EQ(ReplayAll(options_, *cut + 1).summary->last, *cut + 1);
  }
}

TEST_F(LogSpaceTest, TheLimitHoldsOverAllSegmentsWithTheSpare) {
  options_.bytes_max = 4 * kSegmentBytes;
  for (const bool sync : {false, true}) {
    sync_ = sync;
    Open(log_ == nullptr ? 0 : log_->appended());
    const Status full = Fill();
    EXPECT_EQ(full.code(), StatusCode::kDiskFull);
    EXPECT_THAT(full.message(), HasSubstr("lane: the log occupies "));
    EXPECT_THAT(full.message(), HasSubstr("its limit of 32768"));
    EXPECT_LE(log_->bytes_on_disk(), options_.bytes_max);
    EXPECT_GT(log_->bytes_on_disk(), 3 * kSegmentBytes);
    EXPECT_LE(disk_.bytes_used(), options_.bytes_max);
    // Reopened at the limit, it still takes what begins the next checkpoint.
    const Lsn last = log_->appended();
    Open(last);
    const Result<Lsn> cut = log_->Append(RecordKind::kCut, {});
    ASSERT_TRUE(cut.ok());
    ASSERT_TRUE(log_->Write().ok());
    ASSERT_TRUE(log_->Trim(*cut).ok());
    EXPECT_TRUE(AppendRecord(*log_, Writes(300)).ok());
    ASSERT_TRUE(log_->Write().ok());
  }
}

TEST_F(LogSpaceTest, ARecordLargerThanASegmentGetsOneThatFits) {
  Open();
  std::vector<Record> records;
  for (Lsn lsn = 1; lsn <= 30; ++lsn) {
    records.push_back(RecordOf(lsn, 9, lsn % 4 == 1 ? 40'000 : 500));
    ASSERT_EQ(*AppendRecord(*log_, records.back()), lsn);
    if (lsn % 3 == 0) {
      ASSERT_TRUE(log_->Write().ok());
    }
  }
  ASSERT_TRUE(log_->Sync().ok());
  EXPECT_EQ(ReplayAll(options_).records, records);
  const uint64_t used = log_->bytes_on_disk();
  EXPECT_EQ(used, disk_.bytes_used());
  disk_.SetCapacity(used + 10'000);
  EXPECT_EQ(AppendRecord(*log_, Writes(60'000)).status().code(), StatusCode::kDiskFull);
  EXPECT_TRUE(AppendRecord(*log_, Writes(100)).ok());
}

TEST_F(LogSpaceTest, TrimRemovesWhatIsBelowAndNothingElse) {
  Open();
  for (Lsn lsn = 1; lsn <= 200; ++lsn) ASSERT_TRUE(AppendRecord(*log_, Writes(300)).ok());
  ASSERT_TRUE(log_->Write().ok());
  ASSERT_TRUE(log_->Sync().ok());
  const std::vector<SegmentFile> before = Segments(options_);
  ASSERT_GT(before.size(), 5u);
  for (Lsn lsn = 1; lsn <= 201; ++lsn) {
    ASSERT_TRUE(log_->Trim(lsn).ok());
    const std::vector<SegmentFile> left = Segments(options_);
    EXPECT_LE(left[0].first, lsn);
    EXPECT_TRUE(left.size() == 1 || left[1].first > lsn);
    EXPECT_EQ(log_->bytes_on_disk(), disk_.bytes_used());
    EXPECT_EQ(ReplayAll(options_, lsn).records.size(), 201 - lsn);
    if (left[0].first > 1) {
      EXPECT_EQ(ReplayAll(options_, 1).summary.status().code(), StatusCode::kNotFound);
    }
  }
  // What a start finds counts, and can be trimmed too.
  Open(200);
  EXPECT_EQ(log_->bytes_on_disk(), disk_.bytes_used());
  EXPECT_EQ(Segments(options_).size(), 2u);
  ASSERT_TRUE(log_->Trim(201).ok());
  EXPECT_EQ(Segments(options_).size(), 1u);
  EXPECT_EQ(log_->bytes_on_disk(), kSegmentBytes);
}

TEST_F(LogSpaceTest, SegmentsAreRemovedWhenAndWhereTheCallerWants) {
  Open();
  for (Lsn lsn = 1; lsn <= 200; ++lsn) ASSERT_TRUE(AppendRecord(*log_, Writes(300)).ok());
  ASSERT_TRUE(log_->Write().ok());
  ASSERT_TRUE(log_->Sync().ok());
  const size_t before = Segments(options_).size();
  const auto remove = log_->TakeBelow(201);
  EXPECT_LT(log_->bytes_on_disk(), disk_.bytes_used()) << "they count no more";
  EXPECT_EQ(Segments(options_).size(), before);
  log_.reset();
  EXPECT_TRUE(remove().ok());
  EXPECT_EQ(Segments(options_).size(), 1u);
  EXPECT_TRUE(remove().ok()) << "they are gone already";
}

TEST_F(LogSpaceTest, StartsThatWriteNothingLeaveNothing) {
  for (int i = 0; i < 5; ++i) Open(0);
  EXPECT_EQ(disk_.bytes_used(), kSegmentBytes);
  EXPECT_EQ(disk_.List("lane")->size(), 1u);
  // The log ends at 95 when the state behind it comes from a checkpoint at 100.
  Open(100);
  ASSERT_EQ(*AppendRecord(*log_, Writes(8)), 101u);
  ASSERT_TRUE(log_->Write().ok());
  EXPECT_EQ(ReplayAll(options_, 101).summary->last, 101u);
}

TEST_F(LogSpaceTest, FailedWritesAndSyncsAreFinal) {
  for (const bool write : {true, false}) {
    options_.folder = write ? "write" : "sync";
    Open();
    ASSERT_TRUE(AppendRecord(*log_, Writes(300)).ok());
    if (write) disk_.FailAppend(1);
    const Status written = log_->Write();
    if (!write) disk_.FailSync(1);
    const Status first = write ? written : log_->Sync();
    EXPECT_EQ(first.code(), StatusCode::kFailed);
    EXPECT_THAT(first.message(), HasSubstr("Input/output error"));
    EXPECT_EQ(log_->Write().message(), first.message());
    EXPECT_EQ(log_->Sync().message(), first.message());
    EXPECT_EQ(AppendRecord(*log_, Writes(1)).status().message(), first.message());
    EXPECT_EQ(log_->synced(), 0u);
  }
}

TEST_F(LogSpaceTest, WrongOptionsAreSaid) {
  options_.segment_bytes = 4095;
  EXPECT_THAT(OpenLog(options_, 0).status().message(),
              HasSubstr("lane: expected segments of 4096 to "));
  options_.segment_bytes = 4096;
  options_.bytes_max = 4095;
  EXPECT_EQ(OpenLog(options_, 0).status().code(), StatusCode::kInvalid);
  options_.bytes_max = UINT64_MAX;
  options_.boot_id = std::string(65, 'x');
  EXPECT_THAT(OpenLog(options_, 0).status().message(), HasSubstr("at most 64 bytes, found 65"));
}

TEST(LogRealDiskTest, WritesRollsReopensAndGivesBackWhatItReserved) {
  const TempFolder folder;
  const Result<std::string> boot = BootId();
  ASSERT_TRUE(boot.ok()) << boot.status().ToString();
  EXPECT_EQ(boot->size(), 36u);
  const LogOptions options = {.disk = &RealDisk(),
                              .folder = folder.File("a/lane-0"),
                              .lineage = 5,
                              .boot_id = *boot,
                              .segment_bytes = 1 << 16};
  std::vector<Record> records;
  for (int life = 0; life < 4; ++life) {
    Replayed replayed = ReplayAll(options);
    ASSERT_TRUE(replayed.summary.ok()) << replayed.summary.status().ToString();
    EXPECT_FALSE(replayed.summary->torn.has_value());
    EXPECT_EQ(replayed.records, records);
    Result<std::unique_ptr<WriteAheadLog>> log = OpenLog(options, records.size());
    ASSERT_TRUE(log.ok()) << log.status().ToString();
    for (int i = 0; i < 300; ++i) {
      records.push_back(RecordOf(records.size() + 1, 3, i % 50 == 0 ? 100'000 : 900));
      ASSERT_EQ(*AppendRecord(**log, records.back()), records.size());
      if (i % 7 == 0) {
        ASSERT_TRUE((*log)->Write().ok());
      }
      if (i % 60 == 0) {
        ASSERT_TRUE((*log)->Sync().ok());
      }
    }
    ASSERT_TRUE((*log)->Write().ok());
  }
  EXPECT_EQ(ReplayAll(options).records, records);
}

}  // namespace
}  // namespace strata
