#include "storage/log/old_segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/failpoint.h"
#include "base/page_buffer.h"
#include "proto/format/log_format.h"
#include "storage/log/segment_reader.h"

namespace strata {
namespace {

constexpr size_t kPieceBytes = size_t{4} << 20;
constexpr size_t kTailBytes = size_t{64} << 10;

}  // namespace

// Appends to a file in large pieces that begin at a page, which go past the page cache.
class OldSegments::LargePieces {
 public:
  explicit LargePieces(File& file) : file_(file), piece_(MakePageBuffer(kPieceBytes)) {}

  Status Append(std::span<const std::byte> bytes) {
    if (!piece_) return Refused("the machine has no memory to copy a segment of a log");
    while (!bytes.empty()) {
      const size_t some = std::min(bytes.size(), kPieceBytes - used_);
      std::copy_n(bytes.data(), some, piece_.get() + used_);
      used_ += some;
      bytes = bytes.subspan(some);
      if (used_ == kPieceBytes) STRATA_TRY(Flush());
    }
    return {};
  }
  Status Flush() { return file_.Append({piece_.get(), std::exchange(used_, 0)}); }

 private:
  File& file_;
  const PageBuffer piece_;
  size_t used_ = 0;
};

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
  Lsn synced = 0;  // what later segments know
  for (size_t i = segments.size(); i > 0; --i) {
    const SegmentFile& segment = segments[i - 1];
    const Lsn last_here = i == segments.size() ? last : segments[i].first - 1;
    STRATA_ASSIGN(const SegmentReader reader,
                  SegmentReader::Open(options_, segment.first, segment.path));
    const bool lost_power = reader.segment().boot_id != options_.boot_id;
    if (synced < last_here && !lost_power) STRATA_TRY(WriteAgain(segment, last_here));
    synced = std::max(synced, reader.segment().synced_lsn);
  }
  return segments.empty() ? Status::Ok() : options_.disk->SyncFolder(options_.folder);
}

// What the dead process wrote in this run of the kernel is read from memory. A sync would not do:
// if one has failed, the kernel has forgotten that the bytes are not on the disk, and the next
// succeeds without writing them (Rebello et al., "Can applications recover from fsync failures?",
// USENIX ATC 2020). The only other copy goes when this one takes its name, so each record up to
// `last` is checked once more, in the very memory from which it is written.
Status OldSegments::WriteAgain(const SegmentFile& segment, Lsn last) {
  Disk& disk = *options_.disk;
  const std::string temporary = SpareSegmentPath(options_.folder);
  STRATA_ASSIGN(SegmentReader reader, SegmentReader::Open(options_, segment.first, segment.path));
  STRATA_ASSIGN(const std::unique_ptr<File> to, disk.Create(temporary));
  STRATA_TRY(to->Preallocate(reader.size()));
  LargePieces copy(*to);
  STRATA_TRY(copy.Append(format::EncodeLogSegment(reader.segment())));
  for (Lsn lsn = segment.first; lsn <= last; ++lsn) {
    STRATA_ASSIGN(const auto record, reader.Next(lsn));
    if (!record.has_value() && reader.bad().has_value()) {
      return Corrupt(
          fmt::format("{}: offset {}: record {} was whole when it was replayed; read "
                      "again, to be copied: {}",
                      segment.path, reader.bad()->offset, lsn, reader.bad()->reason));
    }
    if (!record.has_value()) break;
    STRATA_TRY(copy.Append({record->body.data() - format::kLogRecordHeaderBytes,
                            static_cast<size_t>(format::LogRecordBytes(record->body.size()))}));
  }
  STRATA_TRY(CopyTail(segment.path, reader.offset(), &copy));
  STRATA_TRY(copy.Flush());
  STRATA_FAILPOINT("log.copy_sync");
  STRATA_TRY(to->Sync());
  STRATA_FAILPOINT("log.copy_rename");
  return disk.Rename(temporary, segment.path);
}

// What replay has cut stays where it is, for people to look at.
Status OldSegments::CopyTail(const std::string& path, uint64_t offset, LargePieces* copy) {
  STRATA_ASSIGN(const std::unique_ptr<File> from, options_.disk->OpenToRead(path));
  std::vector<std::byte> bytes(kTailBytes);
  while (true) {
    STRATA_ASSIGN(const size_t got, from->ReadAt(offset, bytes));
    if (got == 0) return {};
    STRATA_TRY(copy->Append(std::span(bytes).first(got)));
    offset += got;
  }
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
