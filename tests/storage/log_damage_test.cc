// Damaged logs: every flipped bit, every cut, and bytes in the wrong place are found, or proven to
// change nothing. No damage makes a record come back wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "base/hash.h"
#include "base/little_endian.h"
#include "proto/format/log_format.h"
#include "tests/storage/log_fixture.h"
#include "tests/support/sanitizers.h"
#include "tests/support/sim_disk.h"

namespace strata {
namespace {

using log_test::AppendRecord;
using log_test::Record;
using log_test::RecordOf;
using log_test::ReplayAll;
using log_test::Replayed;
using log_test::Segments;
using testing::HasSubstr;

using Bytes = std::vector<std::byte>;

// A log of 30 records in several segments, the last two of which are not synced.
class LogDamageTest : public testing::Test {
 protected:
  static constexpr Lsn kRecords = 30;
  static constexpr Lsn kSynced = 28;

  void SetUp() override {
    for (Lsn lsn = 1; lsn <= kRecords; ++lsn) records_.push_back(RecordOf(lsn, 1, 600));
    WriteLog(options_, records_);
    segments_ = Segments(options_);
    ASSERT_GE(segments_.size(), 3u);
    ASSERT_LT(segments_.back().first, kSynced);
    for (const SegmentFile& segment : segments_) {
      contents_.push_back(log_test::ReadBytes(disk_, segment.path));
    }
  }

  static void WriteLog(const LogOptions& options, const std::vector<Record>& records) {
    Result<std::unique_ptr<WriteAheadLog>> log = OpenLog(options, 0);
    ASSERT_TRUE(log.ok()) << log.status().ToString();
    for (Lsn lsn = 1; lsn <= records.size(); ++lsn) {
      ASSERT_EQ(*AppendRecord(**log, records[lsn - 1]), lsn);
      ASSERT_TRUE((*log)->Write().ok());
      if (lsn <= kSynced) {
        ASSERT_TRUE((*log)->Sync().ok());
      }
    }
  }

  void Damage(size_t segment, const Bytes& bytes) {
    log_test::WriteBytes(disk_, segments_[segment].path, bytes);
  }
  void Restore(size_t segment) { Damage(segment, contents_[segment]); }

  // Where in segment `index` the record `lsn` begins, or the records end.
  uint64_t OffsetOf(size_t index, Lsn lsn) const {
    uint64_t offset = format::kLogSegmentHeaderBytes;
    for (Lsn l = segments_[index].first; l < lsn; ++l) {
      offset += format::LogRecordBytes(records_[l - 1].body.size());
    }
    return offset;
  }

  bool IsInBody(size_t index, uint64_t offset) const {
    for (Lsn lsn = segments_[index].first; lsn <= kRecords; ++lsn) {
      const uint64_t begin = OffsetOf(index, lsn) + format::kLogRecordHeaderBytes;
      if (offset >= begin && offset < begin + records_[lsn - 1].body.size()) return true;
    }
    return false;
  }

  // Replays the damaged log and checks that what comes back is a beginning of the truth: how long a
  // one, and nothing when the damage was an error.
  std::optional<Lsn> Outcome(const std::string& boot_id) {
    LogOptions options = options_;
    options.boot_id = boot_id;
    const Replayed replayed = ReplayAll(options);
    EXPECT_LE(replayed.records.size(), records_.size());
    for (size_t i = 0; i < std::min(replayed.records.size(), records_.size()); ++i) {
      EXPECT_EQ(replayed.records[i], records_[i]) << "LSN " << i + 1;
    }
    error_ = replayed.summary.status();
    if (!error_.ok()) {
      EXPECT_EQ(error_.code(), StatusCode::kCorrupt) << error_.ToString();
      for (const char* part : {"lane/segment-", "offset ", "expected ", "found "}) {
        EXPECT_THAT(error_.message(), HasSubstr(part));
      }
      return std::nullopt;
    }
    torn_ = replayed.summary->torn;
    EXPECT_EQ(replayed.summary->last, replayed.records.size());
    return replayed.summary->last;
  }

  SimDisk disk_;
  LogOptions options_ = {.disk = &disk_,
                         .folder = "lane",
                         .lineage = 77,
                         .lane = 2,
                         .boot_id = "here",
                         .segment_bytes = 4096};
  std::vector<Record> records_;
  std::vector<SegmentFile> segments_;
  std::vector<Bytes> contents_;
  Status error_;
  std::optional<ReplaySummary::Torn> torn_;
};

TEST_F(LogDamageTest, UndamagedItIsAllThere) {
  for (const char* boot_id : {"here", "elsewhere", ""}) {
    EXPECT_EQ(Outcome(boot_id), kRecords);
    EXPECT_FALSE(torn_.has_value());
  }
}

TEST_F(LogDamageTest, EveryFlippedBitIsFound) {
  Random random(1);
  uint64_t body_bits = 0;
  for (size_t s = 0; s < segments_.size(); ++s) {
    for (size_t bit = 0; bit < contents_[s].size() * 8 && !HasFailure(); ++bit) {
      // All of the format's own bits, and one in so many of those of the bodies.
      constexpr uint64_t kOneIn = kSanitized ? 60 : 6;
      const bool in_body = IsInBody(s, bit / 8);
      if (in_body && random.Below(kOneIn) != 0) continue;
      body_bits += in_body ? 1 : 0;
      SCOPED_TRACE(fmt::format("{} bit {}", segments_[s].path, bit));
      Bytes bytes = contents_[s];
      bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      Damage(s, bytes);
      // No power was lost: nothing but corruption explains the bit.
      EXPECT_EQ(Outcome("here"), std::nullopt);
      // Power was lost: what had not been synced may be cut, which is told.
      if (const auto last = Outcome("elsewhere")) {
        EXPECT_GE(*last, kSynced);
        EXPECT_LT(*last, kRecords);
        EXPECT_TRUE(torn_.has_value());
      }
    }
    Restore(s);
  }
  EXPECT_GT(body_bits, kSanitized ? 1'000U : 10'000U);
}

TEST_F(LogDamageTest, EveryCutIsFoundOrEndsBetweenRecords) {
  for (size_t s = 0; s < segments_.size(); ++s) {
    const bool is_last = s + 1 == segments_.size();
    constexpr size_t kStep = kSanitized ? 3 : 1;
    for (size_t size = 0; size < contents_[s].size() && !HasFailure(); size += kStep) {
      SCOPED_TRACE(fmt::format("{} cut to {}", segments_[s].path, size));
      Damage(s, Bytes(contents_[s].begin(), contents_[s].begin() + static_cast<int>(size)));
      for (const char* boot_id : {"here", "elsewhere"}) {
        const auto last = Outcome(boot_id);
        const bool cut = is_last && size >= format::kLogSegmentHeaderBytes;
        ASSERT_EQ(last.has_value(), cut) << error_.ToString();
        if (!cut) continue;
        // At the end of a record a shorter log could have ended; everywhere else it is told.
        const uint64_t end = OffsetOf(s, *last + 1);
        ASSERT_EQ(torn_.has_value(), end != size);
        if (!torn_.has_value()) continue;
        EXPECT_EQ(torn_->file, segments_[s].path);
        EXPECT_EQ(torn_->offset, end);
        EXPECT_EQ(torn_->bytes, size - end);
      }
    }
    Restore(s);
  }
}

TEST_F(LogDamageTest, WhatLiesBehindTheEndIsNoTornTail) {
  Bytes longer = contents_.back();
  longer.resize(longer.size() + 64, std::byte{'x'});
  Damage(segments_.size() - 1, longer);
  EXPECT_EQ(Outcome("here"), std::nullopt);
  EXPECT_THAT(error_.message(),
              HasSubstr("this is no torn tail: a process that dies only shortens what it writes, "
                        "and no power was lost since"));
  EXPECT_EQ(Outcome("elsewhere"), kRecords);
  EXPECT_TRUE(torn_.has_value());
}

TEST_F(LogDamageTest, ZeroedSectorsAreFound) {
  for (size_t s = 0; s < segments_.size(); ++s) {
    for (size_t at = 0; at < contents_[s].size(); at += 512) {
      SCOPED_TRACE(fmt::format("{} at {}", segments_[s].path, at));
      Bytes bytes = contents_[s];
      std::fill_n(bytes.begin() + static_cast<int>(at), std::min<size_t>(512, bytes.size() - at),
                  std::byte{0});
      Damage(s, bytes);
      EXPECT_EQ(Outcome("here"), std::nullopt);
      if (const auto last = Outcome("elsewhere")) {
        EXPECT_GE(*last, kSynced);
      }
    }
    Restore(s);
  }
}

TEST_F(LogDamageTest, MissingSegmentsAreFound) {
  for (size_t s = 0; s < segments_.size(); ++s) {
    ASSERT_TRUE(disk_.Remove(segments_[s].path).ok());
    for (const char* boot_id : {"here", "elsewhere"}) {
      LogOptions options = options_;
      options.boot_id = boot_id;
      const Replayed replayed = ReplayAll(options);
      if (s == 0) {
        EXPECT_EQ(replayed.summary.status().code(), StatusCode::kNotFound);
        EXPECT_THAT(replayed.summary.status().message(),
                    HasSubstr("lane: expected a segment with LSN 1, found the first at LSN "));
      } else if (s + 1 < segments_.size()) {
        EXPECT_EQ(Outcome(boot_id), std::nullopt);
        EXPECT_THAT(error_.message(),
                    HasSubstr(fmt::format("expected record {}, found the end of the file",
                                          segments_[s].first)));
      }
    }
    Restore(s);
  }
}

TEST_F(LogDamageTest, SwappedAndRepeatedSegmentsAreFound) {
  for (size_t a = 0; a < segments_.size(); ++a) {
    for (size_t b = 0; b < segments_.size(); ++b) {
      if (a == b) continue;
      Damage(a, contents_[b]);
      EXPECT_EQ(Outcome("elsewhere"), std::nullopt);
      EXPECT_THAT(
          error_.message(),
          HasSubstr(fmt::format("expected a segment of first LSN {}, found one of first LSN "
                                "{}",
                                segments_[a].first, segments_[b].first)));
      Damage(b, contents_[a]);
      EXPECT_EQ(Outcome("elsewhere"), std::nullopt);
      Restore(a);
      Restore(b);
    }
  }
}

TEST_F(LogDamageTest, SegmentsOfAnotherLaneOrLineageAreFound) {
  for (const bool other_lane : {true, false}) {
    LogOptions other = options_;
    other.folder = other_lane ? "other lane" : "other lineage";
    if (other_lane) other.lane = 9;
    if (!other_lane) other.lineage = 78;
    WriteLog(other, records_);
    const std::vector<SegmentFile> theirs = Segments(other);
    ASSERT_EQ(theirs.size(), segments_.size());
    for (size_t s = 0; s < theirs.size(); ++s) {
      const Bytes foreign = log_test::ReadBytes(disk_, theirs[s].path);
      Damage(s, foreign);
      EXPECT_EQ(Outcome("elsewhere"), std::nullopt);
      EXPECT_THAT(
          error_.message(),
          HasSubstr(other_lane ? "expected a segment of lane 2, found one of lane 9"
                               : "expected a segment of lineage 77, found one of lineage 78"));
      // Their records behind our header: what a write to the wrong file leaves.
      Bytes mixed = foreign;
      std::copy_n(contents_[s].begin(), format::kLogSegmentHeaderBytes, mixed.begin());
      Damage(s, mixed);
      EXPECT_EQ(Outcome("here"), std::nullopt);
      Restore(s);
    }
  }
}

TEST_F(LogDamageTest, ARecordThatLiesElsewhereIsNotBelieved) {
  // Equal records at two places: the bytes differ in the place alone.
  const std::vector<Record> equal(8, RecordOf(5, 1, 200));
  LogOptions options = options_;
  options.folder = "equal";
  WriteLog(options, equal);
  const std::string path = Segments(options)[0].path;
  const Bytes content = log_test::ReadBytes(disk_, path);
  const size_t bytes = format::LogRecordBytes(equal[0].body.size());
  for (size_t from = 0; from < 8; ++from) {
    for (size_t to = 0; to < 8; ++to) {
      if (from == to) continue;
      Bytes moved = content;
      std::copy_n(content.begin() + static_cast<int>(format::kLogSegmentHeaderBytes + from * bytes),
                  bytes,
                  moved.begin() + static_cast<int>(format::kLogSegmentHeaderBytes + to * bytes));
      log_test::WriteBytes(disk_, path, moved);
      const Replayed replayed = ReplayAll(options);
      EXPECT_EQ(replayed.summary.status().code(), StatusCode::kCorrupt);
      EXPECT_EQ(replayed.records.size(), to);
    }
  }
}

// One damaged record, at each place, for all three rules of the decision.
TEST_F(LogDamageTest, WhatADamagedRecordMeansFollowsFromPowerAndTheSyncedMark) {
  for (Lsn lsn = 1; lsn <= kRecords; ++lsn) {
    SCOPED_TRACE(fmt::format("record {}", lsn));
    size_t s = 0;
    while (s + 1 < segments_.size() && segments_[s + 1].first <= lsn) ++s;
    Bytes bytes = contents_[s];
    const uint64_t offset = OffsetOf(s, lsn);
    bytes[offset + 20] ^= std::byte{1};
    Damage(s, bytes);
    EXPECT_EQ(Outcome("here"), std::nullopt);
    EXPECT_THAT(
        error_.message(),
        HasSubstr(fmt::format("{}: offset {}: record {}: ", segments_[s].path, offset, lsn)));
    if (lsn < kRecords && lsn + 1 != (s + 1 < segments_.size() ? segments_[s + 1].first : 0)) {
      EXPECT_THAT(error_.message(), HasSubstr(fmt::format("record {} follows it", lsn + 1)));
    }
    if (lsn <= kSynced) {
      EXPECT_EQ(Outcome("elsewhere"), std::nullopt);
      EXPECT_THAT(error_.message(), HasSubstr(fmt::format("synced up to LSN {}", kSynced)));
    } else {
      EXPECT_EQ(Outcome("elsewhere"), lsn - 1);
      ASSERT_TRUE(torn_.has_value());
      EXPECT_EQ(torn_->offset, offset);
      EXPECT_EQ(torn_->bytes, contents_[s].size() - offset);
    }
    Restore(s);
  }
}

// A start finds all that was written and makes it durable: its segment says so before it has
// records.
TEST_F(LogDamageTest, TheBeginningOfASegmentSpeaksForWhatIsBeforeIt) {
  ASSERT_TRUE(OpenLog(options_, kRecords).ok());
  const size_t s = segments_.size() - 1;
  for (const Lsn lsn : {kSynced + 1, kRecords}) {
    Bytes bytes = contents_[s];
    bytes[OffsetOf(s, lsn) + 60] ^= std::byte{1};
    Damage(s, bytes);
    for (const char* boot_id : {"here", "elsewhere"}) {
      EXPECT_EQ(Outcome(boot_id), std::nullopt);
      EXPECT_THAT(error_.message(), HasSubstr("synced up to LSN 30"));
    }
  }
}

TEST_F(LogDamageTest, ATailThatWasCutStaysCut) {
  // The process dies within record 29, and power is lost later: 30 remains behind it.
  const size_t s = segments_.size() - 1;
  Bytes bytes = contents_[s];
  bytes[OffsetOf(s, 29) + 50] ^= std::byte{1};
  Damage(s, bytes);
  LogOptions options = options_;
  options.boot_id = "elsewhere";
  ASSERT_EQ(Outcome("elsewhere"), 28u);
  for (Lsn last = 28; last < 34; ++last) {
    Result<std::unique_ptr<WriteAheadLog>> log = OpenLog(options, last);
    ASSERT_TRUE(log.ok()) << log.status().ToString();
    records_.resize(last);
    records_.push_back(RecordOf(last + 1, 2, 100));
    ASSERT_TRUE(AppendRecord(**log, records_.back()).ok());
    ASSERT_TRUE((*log)->Write().ok());
    // Neither the old record 30 nor the damaged 29 comes back, or disturbs.
    EXPECT_EQ(Outcome("elsewhere"), last + 1) << error_.ToString();
    EXPECT_FALSE(torn_.has_value());
    EXPECT_EQ(Outcome("here"), last + 1) << error_.ToString();
  }
  // The part before it is still guarded.
  bytes[OffsetOf(s, 28) + 50] ^= std::byte{1};
  Damage(s, bytes);
  EXPECT_EQ(Outcome("elsewhere"), std::nullopt);
}

TEST_F(LogDamageTest, SegmentsBehindACutAreSetAside) {
  // Nothing but the first segment was ever synced, and it lost its end with the power.
  LogOptions options = options_;
  options.folder = "unsynced";
  {
    Result<std::unique_ptr<WriteAheadLog>> log = OpenLog(options, 0);
    ASSERT_TRUE(log.ok());
    for (const Record& record : records_) ASSERT_TRUE(AppendRecord(**log, record).ok());
    ASSERT_TRUE((*log)->Write().ok());
  }
  const std::vector<SegmentFile> before = Segments(options);
  ASSERT_EQ(before.size(), segments_.size());
  Bytes bytes = log_test::ReadBytes(disk_, before[0].path);
  bytes[OffsetOf(0, 3)] ^= std::byte{1};
  log_test::WriteBytes(disk_, before[0].path, bytes);
  EXPECT_EQ(ReplayAll(options).summary.status().code(), StatusCode::kCorrupt);

  options.boot_id = "elsewhere";
  const Replayed replayed = ReplayAll(options);
  ASSERT_TRUE(replayed.summary.ok()) << replayed.summary.status().ToString();
  EXPECT_EQ(replayed.summary->last, 2u);
  ASSERT_TRUE(replayed.summary->torn.has_value());
  uint64_t size = 0;
  for (const SegmentFile& segment : before) size += log_test::ReadBytes(disk_, segment.path).size();
  EXPECT_EQ(replayed.summary->torn->bytes, size - OffsetOf(0, 3));

  Result<std::unique_ptr<WriteAheadLog>> log = OpenLog(options, 2);
  ASSERT_TRUE(log.ok()) << log.status().ToString();
  EXPECT_EQ(Segments(options).size(), 2u);
  EXPECT_EQ(ListLogFolder(options)->cut.size(), before.size() - 1);
  EXPECT_EQ(ReplayAll(options).summary->last, 2u);
  ASSERT_TRUE((*log)->Trim(kRecords).ok());
  EXPECT_EQ(ListLogFolder(options)->cut.size(), 0u);
}

TEST_F(LogDamageTest, WhatIsReadWrongIsNotWrittenOverTheLog) {
  int refused = 0;
  for (int attempt = 0; attempt < 200; ++attempt) {
    disk_.SetReadFlip(0.1);
    Result<std::unique_ptr<WriteAheadLog>> log = OpenLog(options_, kRecords);
    disk_.SetReadFlip(0);
    if (!log.ok()) {
      EXPECT_EQ(log.status().code(), StatusCode::kCorrupt) << log.status().ToString();
      ++refused;
    }
    log = Failed("closed");
    ASSERT_EQ(Outcome("here"), kRecords) << "attempt " << attempt << ": " << error_.ToString();
  }
  EXPECT_GT(refused, 10);
  EXPECT_LT(refused, 190);
}

// The last record was on stable storage before anybody went on from behind it.
TEST_F(LogDamageTest, ALogThatEndsBeforeItsBaseWasShortened) {
  const size_t s = segments_.size() - 1;
  EXPECT_EQ(ReplayAll(options_, kRecords + 1).summary->last, kRecords);
  const uint64_t end = OffsetOf(s, kRecords + 1);
  for (uint64_t size = OffsetOf(s, kRecords - 1); size < end; ++size) {
    Bytes bytes = contents_[s];
    bytes.resize(size);
    Damage(s, bytes);
    for (const char* boot_id : {"here", "elsewhere"}) {
      LogOptions options = options_;
      options.boot_id = boot_id;
      const Status shortened = ReplayAll(options, kRecords + 1).summary.status();
      ASSERT_EQ(shortened.code(), StatusCode::kCorrupt) << size;
      EXPECT_THAT(shortened.message(), HasSubstr(segments_[s].path));
      EXPECT_THAT(shortened.message(), HasSubstr("expected all records up to LSN 30"));
      EXPECT_THAT(shortened.message(),
                  HasSubstr(fmt::format("behind LSN {}", size < OffsetOf(s, 30) ? 28 : 29)));
    }
  }
}

TEST_F(LogDamageTest, ALogThatIsGoneIsNoEmptyOne) {
  LogOptions options = options_;
  options.made = true;
  EXPECT_EQ(ReplayAll(options).summary->last, kRecords);
  for (const char* folder : {"never", "emptied"}) {
    options.folder = folder;
    ASSERT_TRUE(folder == std::string("never") || disk_.MakeFolder(folder).ok());
    const Status gone = ReplayAll(options).summary.status();
    EXPECT_EQ(gone.code(), StatusCode::kCorrupt) << gone.ToString();
    EXPECT_THAT(gone.message(), HasSubstr(std::string(folder) + ": expected the segments"));
  }
  // A start that dies anywhere leaves it something, though there was no record yet.
  options.made = false;
  ASSERT_TRUE(OpenLog(options, 0).ok());
  options.made = true;
  disk_.SetCapacity(0);
  ASSERT_TRUE(OpenLog(options, 0).ok());  // it could begin none
  EXPECT_EQ(ReplayAll(options).summary->last, 0u);
}

TEST_F(LogDamageTest, WhatItDoesNotKnowIsSaid) {
  Bytes bytes = contents_[0];
  bytes[8] = std::byte{2};
  const size_t crc_at = format::kLogSegmentHeaderBytes - 4;
  StoreLittle(Crc32c(std::span(bytes).first(crc_at)), bytes.data() + crc_at);
  Damage(0, bytes);
  const Status newer = ReplayAll(options_).summary.status();
  EXPECT_EQ(newer.code(), StatusCode::kInvalid);
  EXPECT_THAT(newer.message(), HasSubstr(segments_[0].path));
  EXPECT_THAT(newer.message(), HasSubstr("version 1 or older, found version 2"));

  LogOptions options = options_;
  options.folder = "kinds";
  WriteLog(options, {{static_cast<RecordKind>(8), {}}});
  const Status kind = ReplayAll(options).summary.status();
  EXPECT_EQ(kind.code(), StatusCode::kInvalid);
  EXPECT_THAT(kind.message(), HasSubstr("expected a kind from 1 to 7, found 8"));
}

TEST_F(LogDamageTest, ReplayBeginsWhereItIsAsked) {
  for (Lsn from = 1; from <= kRecords + 1; ++from) {
    const Replayed replayed = ReplayAll(options_, from);
    ASSERT_TRUE(replayed.summary.ok());
    EXPECT_EQ(replayed.summary->last, kRecords);
    EXPECT_EQ(replayed.summary->records, replayed.records.size());
    ASSERT_EQ(replayed.records.size(), from > kRecords ? 0 : kRecords - from + 1);
    for (Lsn lsn = from; lsn <= kRecords; ++lsn) {
      EXPECT_EQ(replayed.records[lsn - from], records_[lsn - 1]);
    }
  }
  int visits = 0;
  const auto stop = [&](const LogRecord& record) {
    ++visits;
    return record.lsn == 4 ? Cancelled("enough") : Status();
  };
  EXPECT_EQ(ReplayLog(options_, 2, stop).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(visits, 3);
}

TEST_F(LogDamageTest, AnEmptyLogIsOneAtItsBeginningOnly) {
  LogOptions options = options_;
  options.folder = "nowhere";
  for (const Lsn from : {0, 1}) EXPECT_EQ(ReplayAll(options, from).summary->last, 0u);
  EXPECT_EQ(ReplayAll(options, 2).summary.status().message(),
            "nowhere: expected a segment with LSN 2, found none at all");
}

}  // namespace
}  // namespace strata
