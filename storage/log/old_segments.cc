#include "storage/log/old_segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/failpoint.h"
#include "proto/format/log_format.h"
#include "storage/log/segment_reader.h"

namespace strata {
namespace {

// A record up to the last that was replayed; nothing at the end of the file. kCorrupt: it was whole
// then.
Result<std::optional<LogRecord>> ReadAgain(SegmentReader* reader, Lsn lsn) {
  STRATA_ASSIGN(std::optional<LogRecord> record, reader->Next(lsn));
  if (record.has_value() || !reader->bad().has_value()) return record;
  return Corrupt(
      fmt::format("{}: offset {}: record {} was whole when it was replayed; read again, to be "
                  "written again: {}",
                  reader->path(), reader->bad()->offset, lsn, reader->bad()->reason));
}

}  // namespace

Status OldSegments::Adopt(Lsn last) {
  STRATA_ASSIGN(LogFolder folder, ListLogFolder(options_));
  cut_ = std::move(folder.cut);
  STRATA_TRY(RemoveSegment(*options_.disk, SpareSegmentPath(options_.folder)));
  const auto behind = std::ranges::upper_bound(folder.segments, last, {}, &SegmentFile::first);
  const std::vector<SegmentFile> kept(folder.segments.begin(), behind);
  for (const SegmentFile& segment : folder.segments) {
    STRATA_TRY(options_.disk->GiveBackReserve(segment.path));
  }
  STRATA_TRY(SetAside({behind, folder.segments.end()}, last));
  STRATA_TRY(MakeDurable(kept, last));
  for (const SegmentFile& segment : kept) {
    STRATA_ASSIGN(const std::unique_ptr<File> file, options_.disk->OpenToRead(segment.path));
    STRATA_ASSIGN(const uint64_t size, file->Size());
    segments_.push_back({segment, size});
  }
  return {};
}

// From the last on, so that the log is whole up to some LSN at each moment.
Status OldSegments::SetAside(std::vector<SegmentFile> segments, Lsn last) {
  Disk& disk = *options_.disk;
  if (segments.empty()) return {};
  for (; !segments.empty(); segments.pop_back()) {
    const SegmentFile& segment = segments.back();
    STRATA_ASSIGN(const std::unique_ptr<File> file, disk.OpenToRead(segment.path));
    STRATA_ASSIGN(const uint64_t size, file->Size());
    if (size <= format::kLogSegmentHeaderBytes) {
      if (segment.first != last + 1) STRATA_TRY(RemoveSegment(disk, segment.path));
      continue;
    }
    const std::string path = CutSegmentPath(options_.folder, segment.first);
    STRATA_TRY(disk.Rename(segment.path, path));
    std::erase_if(cut_, [&](const SegmentFile& cut) { return cut.path == path; });
    cut_.push_back({segment.first, path});
  }
  std::ranges::sort(cut_, {}, &SegmentFile::first);
  return disk.SyncFolder(options_.folder);
}

// The records of a process that died may not be on stable storage yet, and those of the next one,
// which rest on them, must not get there first.
Status OldSegments::MakeDurable(const std::vector<SegmentFile>& segments, Lsn last) {
  Lsn synced = 0;  // as the segments from here on tell
  for (size_t i = segments.size(); i > 0; --i) {
    const SegmentFile& segment = segments[i - 1];
    const Lsn last_here = i == segments.size() ? last : segments[i].first - 1;
    STRATA_ASSIGN(const SegmentReader reader,
                  SegmentReader::Open(options_, segment.first, segment.path));
    synced = std::max(synced, reader.segment().synced_lsn);
    const bool lost_power = reader.segment().boot_id != options_.boot_id;
    if (synced >= last_here || lost_power) continue;
    STRATA_ASSIGN(const Lsn synced_here, SyncedIn(segment, last_here));
    synced = std::max(synced, synced_here);
    STRATA_TRY(WriteAgain(segment, synced + 1, last_here));
  }
  return segments.empty() ? Status::Ok() : options_.disk->SyncFolder(options_.folder);
}

// Up to where the log was on stable storage, as the records of a segment up to `last` tell.
Result<Lsn> OldSegments::SyncedIn(const SegmentFile& segment, Lsn last) const {
  STRATA_ASSIGN(SegmentReader reader, SegmentReader::Open(options_, segment.first, segment.path));
  Lsn synced = 0;
  for (Lsn lsn = segment.first; lsn <= last; ++lsn) {
    STRATA_ASSIGN(const auto record, ReadAgain(&reader, lsn));
    if (!record.has_value()) break;
    synced = std::max(synced, record->synced_lsn);
  }
  return synced;
}

// What the dead process wrote in this run of the kernel is read from memory. A sync would not do:
// if one has failed, the kernel has forgotten that the bytes are not on the disk, and the next
// succeeds without writing them (Rebello et al., "Can applications recover from fsync failures?",
// USENIX ATC 2020). So the records from `from` on are written over themselves, and the kernel takes
// them for new. The bytes are the same: whatever is torn meanwhile, the process or the machine,
// each one is as it was, in memory or on the disk, or as it is to be. What is in memory is the only
// copy, so each record is checked once more, in the very memory from which it is written.
Status OldSegments::WriteAgain(const SegmentFile& segment, Lsn from, Lsn last) {
  STRATA_ASSIGN(SegmentReader reader, SegmentReader::Open(options_, segment.first, segment.path));
  STRATA_ASSIGN(const std::unique_ptr<File> file, options_.disk->OpenToRewrite(segment.path));
  for (Lsn lsn = segment.first; lsn <= last; ++lsn) {
    const uint64_t offset = reader.offset();
    STRATA_ASSIGN(const auto record, ReadAgain(&reader, lsn));
    if (!record.has_value()) break;
    if (lsn < from) continue;
    STRATA_FAILPOINT("log.rewrite");
    STRATA_TRY(file->WriteAt(offset, {record->body.data() - format::kLogRecordHeaderBytes,
                                      static_cast<size_t>(reader.offset() - offset)}));
  }
  STRATA_FAILPOINT("log.rewrite_sync");
  return file->Sync();
}

void OldSegments::Add(Lsn first, uint64_t bytes) {
  segments_.push_back({{first, SegmentPath(options_.folder, first)}, bytes});
}

std::vector<std::string> OldSegments::TakeBelow(Lsn lsn, Lsn current_first,
                                                std::atomic<uint64_t>* used) {
  std::vector<std::string> paths;
  while (!segments_.empty() &&
         (segments_.size() > 1 ? segments_[1].file.first : current_first) <= lsn) {
    paths.push_back(segments_[0].file.path);
    *used -= segments_[0].bytes;
    segments_.erase(segments_.begin());
  }
  while (!cut_.empty() && cut_[0].first < lsn) {
    paths.push_back(cut_[0].path);
    cut_.erase(cut_.begin());
  }
  return paths;
}

uint64_t OldSegments::bytes() const {
  uint64_t bytes = 0;
  for (const Segment& segment : segments_) bytes += segment.bytes;
  return bytes;
}

Status RemoveSegment(Disk& disk, const std::string& path) {
  STRATA_FAILPOINT("log.remove");
  const Status removed = disk.Remove(path);
  return removed.code() == StatusCode::kNotFound ? Status::Ok() : removed;
}

}  // namespace strata
