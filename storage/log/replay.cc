// Reading a log back, and what a damaged one means (docs/decisions/0006).
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "storage/log/log.h"
#include "storage/log/segment_files.h"
#include "storage/log/segment_reader.h"

namespace strata {
namespace {

bool IsKnown(RecordKind kind) {
  return kind >= RecordKind::kWrites && kind <= RecordKind::kItemsNote;
}

// What lies behind a bad record.
struct Behind {
  uint64_t bytes = 0;
  Lsn synced = 0;     // up to here the log had been on stable storage, as somebody behind says
  std::string first;  // the first sign of something valid, in words; empty when there is none
};

class Replay {
 public:
  Replay(const LogOptions& options, Lsn from, const std::function<Status(const LogRecord&)>& visit)
      : options_(options), from_(std::max<Lsn>(from, 1)), visit_(visit) {}

  Result<ReplaySummary> Run() {
    STRATA_ASSIGN(LogFolder folder, ListLogFolder(options_));
    segments_ = std::move(folder.segments);
    summary_.last = from_ - 1;
    if (segments_.empty()) {
      // A start that died when it had set aside all that there was, and not begun anew.
      const bool set_aside =
          std::ranges::find(folder.cut, from_, &SegmentFile::first) != folder.cut.end();
      if (set_aside || (from_ == 1 && !options_.made)) return std::move(summary_);
      if (from_ == 1) return Gone();
    }
    // What lies before the segment that holds `from` may be gone, or half removed.
    const auto behind = std::ranges::upper_bound(segments_, from_, {}, &SegmentFile::first);
    if (behind == segments_.begin()) {
      return NotFound(
          fmt::format("{}: expected a segment with LSN {}, found {}", options_.folder, from_,
                      segments_.empty() ? std::string("none at all")
                                        : fmt::format("the first at LSN {}", segments_[0].first)));
    }
    segments_.erase(segments_.begin(), behind - 1);
    next_ = segments_[0].first;
    for (size_t i = 0; i < segments_.size() && !summary_.torn; ++i) STRATA_TRY(ReadSegment(i));
    if (next_ < from_) return EndsEarly();
    summary_.last = next_ - 1;
    return std::move(summary_);
  }

 private:
  Status Gone() const {
    return Corrupt(fmt::format(
        "{}: expected the segments of a log, or a base behind which it begins, found neither: the "
        "lane has been served from here and what it held is gone; bring the folder back from a "
        "copy, or start with an empty data folder and restore a checkpoint",
        options_.folder));
  }

  // Whoever asks for what is behind a record knows that it was on stable storage.
  Status EndsEarly() const {
    return Corrupt(fmt::format(
        "{}: expected all records up to LSN {}, behind which the lane's base begins, found the end "
        "of the log behind LSN {}{}: it was shortened; bring it back from a copy, or start with an "
        "empty data folder and restore a checkpoint",
        segments_.back().path, from_ - 1, next_ - 1,
        summary_.torn
            ? fmt::format(" (offset {}: {})", summary_.torn->offset, summary_.torn->reason)
            : std::string()));
  }

  // Up to the LSN with which the next segment begins; whatever the segment has behind that was cut
  // by an earlier start.
  Status ReadSegment(size_t index) {
    const bool is_last = index + 1 == segments_.size();
    STRATA_ASSIGN(SegmentReader reader, OpenSegment(index));
    while (is_last || next_ < segments_[index + 1].first) {
      STRATA_ASSIGN(const std::optional<LogRecord> record, reader.Next(next_));
      if (!record.has_value()) {
        const bool whole = is_last && !reader.bad().has_value();
        return whole ? Status::Ok() : Judge(index, &reader);
      }
      STRATA_TRY(Visit(reader, *record));
    }
    return {};
  }

  Status Visit(const SegmentReader& reader, const LogRecord& record) {
    if (!IsKnown(record.kind)) {
      return Invalid(fmt::format(
          "{}: record {}: expected a kind from 1 to {}, found {}: use the strata-server that wrote "
          "it, or a newer one",
          reader.path(), record.lsn, static_cast<int>(RecordKind::kItemsNote),
          static_cast<int>(record.kind)));
    }
    ++next_;
    if (record.lsn < from_) return {};
    ++summary_.records;
    summary_.bytes += record.body.size();
    return visit_(record);
  }

  // Whether the end that `reader` met is a tail to cut or corruption, an error.
  Status Judge(size_t index, SegmentReader* reader) {
    const BadRecord bad = reader->bad().value_or(
        BadRecord{.offset = reader->offset(),
                  .reason = fmt::format("expected record {}, found the end of the file", next_),
                  .cut_short = true});
    STRATA_ASSIGN(const Behind behind, LookBehind(index, reader));
    const bool is_last = index + 1 == segments_.size();
    const bool lost_power =
        options_.boot_id.empty() || reader->segment().boot_id != options_.boot_id;
    // The death of a process only shortens what it was writing. That of a machine can lose anything
    // that was not synced, and leave what was written later.
    const bool torn = lost_power ? behind.synced < next_ : bad.cut_short && is_last;
    if (torn) {
      summary_.torn = ReplaySummary::Torn{.file = reader->path(),
                                          .offset = bad.offset,
                                          .bytes = reader->size() - bad.offset + behind.bytes,
                                          .reason = bad.reason};
      return {};
    }
    std::string why = behind.first.empty()
                          ? "a process that dies only shortens what it writes, and no power was "
                            "lost since"
                          : behind.first;
    if (behind.synced >= next_) {
      why += fmt::format(", and the log was synced up to LSN {}", behind.synced);
    }
    return Corrupt(fmt::format("{}: offset {}: record {}: {}; this is no torn tail: {}",
                               reader->path(), bad.offset, next_, bad.reason, why));
  }

  // Everything from where `reader` stands on, and in the segments after it.
  Result<Behind> LookBehind(size_t index, SegmentReader* reader) {
    Behind behind;
    STRATA_TRY(LookInside(reader, &behind));
    for (size_t i = index + 1; i < segments_.size(); ++i) {
      STRATA_ASSIGN(SegmentReader later, OpenSegment(i));
      behind.bytes += later.size();
      behind.synced = std::max(behind.synced, later.segment().synced_lsn);
      if (behind.first.empty()) {
        behind.first = fmt::format("{} begins with LSN {}", later.path(), segments_[i].first);
      }
      STRATA_TRY(LookInside(&later, &behind));
    }
    return behind;
  }

  Status LookInside(SegmentReader* reader, Behind* behind) {
    while (true) {
      STRATA_ASSIGN(const auto header, reader->FindHeader());
      if (!header.has_value()) return {};
      behind->synced = std::max(behind->synced, header->synced_lsn);
      if (behind->first.empty() && header->lsn > next_) {
        behind->first = fmt::format("record {} follows it", header->lsn);
      }
    }
  }

  Result<SegmentReader> OpenSegment(size_t index) {
    return SegmentReader::Open(options_, segments_[index].first, segments_[index].path);
  }

  const LogOptions& options_;
  const Lsn from_;
  const std::function<Status(const LogRecord&)>& visit_;
  std::vector<SegmentFile> segments_;
  Lsn next_ = 0;  // the record that must come now
  ReplaySummary summary_;
};

}  // namespace

Result<ReplaySummary> ReplayLog(const LogOptions& options, Lsn from,
                                const std::function<Status(const LogRecord&)>& visit) {
  return Replay(options, from, visit).Run();
}

}  // namespace strata
