#include "storage/log/log_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/failpoint.h"
#include "proto/format/log_format.h"
#include "storage/log/segment_files.h"

namespace strata {
namespace {

constexpr uint64_t kSegmentBytesMin = 4096;
// The least of a segment that is begun where there is no room for a whole one. (The first one of a
// process, which the cut of a checkpoint and so room may begin with, takes what a dead process had
// kept for cuts, when there is not even that much.)
constexpr uint64_t kSmallSegmentBytes = uint64_t{64} << 10;
constexpr size_t kBufferBytesKept = size_t{64} << 20;

// The end of a segment that only cuts may use: a log that is full is trimmed behind the checkpoint
// that a cut begins, so a cut must always find room.
uint64_t ReservedForCuts(uint64_t capacity) { return std::min<uint64_t>(capacity / 8, 16384); }

}  // namespace

LogWriter::LogWriter(const LogOptions& options, Lsn last)
    : options_(options),
      old_(options_),
      appended_(last),
      written_(last),
      spare_(options_, SpareSegmentPath(options_.folder), &used_),
      small_(options_, SmallSegmentPath(options_.folder), &used_) {}

Status LogWriter::Open() {
  Disk& disk = *options_.disk;
  if (options_.segment_bytes < kSegmentBytesMin || options_.segment_bytes > options_.bytes_max) {
    return Invalid(fmt::format("{}: expected segments of {} to {} bytes, found {}", options_.folder,
                               kSegmentBytesMin, options_.bytes_max, options_.segment_bytes));
  }
  if (options_.boot_id.size() > format::kLogBootIdBytesMax) {
    return Invalid(fmt::format("{}: expected a boot id of at most {} bytes, found {}",
                               options_.folder, format::kLogBootIdBytesMax,
                               options_.boot_id.size()));
  }
  STRATA_TRY(MakeDurableFolder(disk, options_.folder));
  const Status begun = Begin();
  no_room_ = begun.code() == StatusCode::kDiskFull && WasServed();
  return no_room_ ? Status() : begun;
}

// Again after kDiskFull: what was done stays done.
Status LogWriter::Begin() {
  Disk& disk = *options_.disk;
  if (!adopted_) {
    STRATA_TRY(old_.Adopt(appended_));
    synced_ = appended_;
    adopted_ = true;
  }
  // Before the old ones count: a log that is at its limit can still be opened, and then trimmed.
  STRATA_ASSIGN(SpareSegment* const first, PrepareFirst());
  if (Status begun = BeginSegment(*first); !begun.ok()) return Fail(begun);
  used_ += old_.bytes();
  STRATA_FAILPOINT("log.sync_folder");
  STRATA_TRY(disk.SyncFolder(options_.folder));
  {
    const MutexLock lock(mutex_);
    folder_changed_ = false;
  }
  begun_ = true;
  return {};
}

Result<SpareSegment*> LogWriter::PrepareFirst() {
  Status room = spare_.Prepare(options_.segment_bytes);
  if (room.code() == StatusCode::kDiskFull && WasServed()) {
    room = spare_.Prepare(std::min(options_.segment_bytes, kSmallSegmentBytes));
    if (room.code() == StatusCode::kDiskFull) {
      STRATA_TRY(small_.Prepare(kSegmentBytesMin));
      return &small_;
    }
  }
  STRATA_TRY(room);
  return &spare_;
}

// The spare that is whole, or else a small one.
Status LogWriter::PrepareNext() {
  Status room = spare_.Prepare(options_.segment_bytes);
  if (room.code() == StatusCode::kDiskFull) {
    static_cast<void>(small_.Prepare(kSegmentBytesMin));
  }
  return room;
}

// A whole segment, or as much of one as there is room for and a record takes.
Status LogWriter::PrepareFor(uint64_t record_bytes) {
  const uint64_t needed = format::kLogSegmentHeaderBytes + record_bytes;
  const uint64_t least = std::max(needed + std::min<uint64_t>(needed / 7 + 8, 16384),
                                  std::min(options_.segment_bytes, kSmallSegmentBytes));
  uint64_t capacity = std::max(options_.segment_bytes, least);
  Status room = spare_.Prepare(capacity);
  while (room.code() == StatusCode::kDiskFull && capacity > least) {
    capacity = std::max(capacity / 2, least);
    room = spare_.Prepare(capacity);
  }
  return room;
}

Status LogWriter::LookForRoom() {
  STRATA_TRY(failed());
  if (!no_room_) return {};
  Status room = begun_ ? Status() : Begin();
  if (room.ok()) room = PrepareNext();
  if (room.code() == StatusCode::kDiskFull && begun_) room = PrepareFor(refused_bytes_);
  no_room_ = room.code() == StatusCode::kDiskFull;
  return room.ok() || no_room_ ? room : Fail(room);
}

Result<Lsn> LogWriter::Append(RecordKind kind, std::span<const std::span<const std::byte>> body) {
  Result<Lsn> lsn = TryAppend(kind, body);
  if (lsn.status().code() == StatusCode::kDiskFull) no_room_ = true;
  return lsn;
}

bool LogWriter::Fits(size_t body_bytes) const {
  return begun_ &&
         offset_ + format::LogRecordBytes(body_bytes) <= capacity_ - ReservedForCuts(capacity_);
}

Result<Lsn> LogWriter::TryAppend(RecordKind kind,
                                 std::span<const std::span<const std::byte>> body) {
  STRATA_TRY(failed());
  if (!begun_) {
    if (Status begun = Begin(); !begun.ok()) {
      return begun.code() == StatusCode::kDiskFull ? begun : Fail(begun);
    }
  }
  uint64_t body_bytes = 0;
  for (const std::span<const std::byte> piece : body) body_bytes += piece.size();
  if (body_bytes > format::kLogBodyBytesMax) {
    return Invalid(fmt::format("{}: expected a record of at most {} bytes, found {}",
                               options_.folder, format::kLogBodyBytesMax, body_bytes));
  }
  const uint64_t bytes = format::LogRecordBytes(body_bytes);
  const bool cut = kind == RecordKind::kCut;
  // Without room a cut begins a segment although it would fit: nothing before it is then kept.
  const bool apart = cut && no_room_ && offset_ > format::kLogSegmentHeaderBytes;
  if (apart || !Fits(body_bytes)) {
    const Status room = MakeRoom(kind, bytes);
    const bool full = room.code() == StatusCode::kDiskFull;
    if (full && !cut) refused_bytes_ = bytes;
    const bool kept = cut && offset_ + bytes <= capacity_;
    if (!room.ok() && !(kept && full)) return room;
  }
  const Lsn lsn = appended_ + 1;
  format::AppendLogRecord(
      {.lineage = options_.lineage, .lane = options_.lane, .first_lsn = first_, .offset = offset_},
      {.kind = static_cast<uint16_t>(kind), .lsn = lsn, .synced_lsn = synced_.load()}, body,
      &buffer_);
  offset_ += bytes;
  appended_ = lsn;
  return lsn;
}

// Room for a record that the current segment has no room for. kDiskFull: nothing has changed.
Status LogWriter::MakeRoom(RecordKind kind, uint64_t record_bytes) {
  // Where a cut begins a segment, the trimming behind it leaves nothing of those before: what is
  // kept for cuts does, and the room that is left is for others.
  const bool small_will_do =
      kind == RecordKind::kCut && format::kLogSegmentHeaderBytes + record_bytes <= small_.bytes();
  const Status room =
      small_will_do ? spare_.Prepare(options_.segment_bytes) : PrepareFor(record_bytes);
  const bool small = room.code() == StatusCode::kDiskFull && small_will_do;
  if (!room.ok() && !small) return room.code() == StatusCode::kDiskFull ? room : Fail(room);
  STRATA_TRY(WriteBuffer());
  Status begun = BeginSegment(small ? small_ : spare_);
  return begun.ok() ? begun : Fail(begun);
}

// Makes the spare the current segment.
Status LogWriter::BeginSegment(SpareSegment& spare) {
  const Lsn first = appended_ + 1;
  const std::vector<std::byte> header = format::EncodeLogSegment({.lineage = options_.lineage,
                                                                  .lane = options_.lane,
                                                                  .first_lsn = first,
                                                                  .synced_lsn = synced_.load(),
                                                                  .boot_id = options_.boot_id});
  STRATA_ASSIGN(SpareSegment::Begun begun,
                spare.Begin(SegmentPath(options_.folder, first), header));
  const MutexLock lock(mutex_);
  if (first_ == first) {
    used_ -= capacity_;  // it was empty, and the new one has taken its name
  } else if (current_ != nullptr) {
    retired_.push_back({std::move(current_), SegmentPath(options_.folder, first_)});
    old_.Add(first_, offset_);
    used_ -= capacity_ - offset_;
  }
  current_ = std::move(begun.file);
  folder_changed_ = true;
  first_ = first;
  offset_ = format::kLogSegmentHeaderBytes;
  capacity_ = begun.capacity;
  return {};
}

Status LogWriter::Write() {
  STRATA_TRY(failed());
  return WriteBuffer();
}

Status LogWriter::WriteBuffer() {
  if (buffer_.empty()) return {};
  const auto put = [&]() -> Status {
    STRATA_FAILPOINT("log.write");
    std::span<const std::byte> bytes = buffer_;
    if (kFailpointsCompiledIn) {
      STRATA_TRY(current_->Append(bytes.first(bytes.size() / 2)));
      bytes = bytes.subspan(bytes.size() / 2);
      STRATA_FAILPOINT("log.write_half");
    }
    STRATA_TRY(current_->Append(bytes));
    STRATA_FAILPOINT("log.written");
    return {};
  };
  if (const Status status = put(); !status.ok()) return Fail(status);
  buffer_.clear();
  if (buffer_.capacity() > kBufferBytesKept) buffer_.shrink_to_fit();
  written_ = appended_;
  return {};
}

Status LogWriter::Sync() {
  const MutexLock one(sync_mutex_);
  std::vector<Retired> retired;
  std::shared_ptr<File> current;
  Lsn target = 0;
  bool folder = false;
  {
    const MutexLock lock(mutex_);
    STRATA_TRY(failed_);
    if (current_ == nullptr) return {};  // there is no room to begin
    target = written_.load();
    current = current_;
    folder = folder_changed_;
    if (target == synced_.load()) return {};
    retired = std::exchange(retired_, {});
    folder_changed_ = false;
  }
  if (const Status status = SyncFiles(retired, current.get(), folder); !status.ok()) {
    return Fail(status);
  }
  synced_ = target;
  // What follows only saves space and time: whoever needs it meets the error.
  for (const Retired& segment : retired) {
    static_cast<void>(options_.disk->GiveBackReserve(segment.path));
  }
  static_cast<void>(PrepareNext());
  return {};
}

Status LogWriter::SyncFiles(const std::vector<Retired>& retired, File* current, bool folder) {
  STRATA_FAILPOINT("log.sync");
  for (const Retired& segment : retired) STRATA_TRY(segment.file->Sync());
  STRATA_TRY(current->Sync());
  if (folder) {
    STRATA_FAILPOINT("log.sync_folder");
    STRATA_TRY(options_.disk->SyncFolder(options_.folder));
  }
  STRATA_FAILPOINT("log.synced");
  return {};
}

std::function<Status()> LogWriter::TakeBelow(Lsn lsn) {
  std::vector<std::string> paths;
  if (begun_) paths = old_.TakeBelow(lsn, first_, &used_);  // else what stays goes with the next
  return [paths = std::move(paths), disk = options_.disk]() -> Status {
    for (const std::string& path : paths) STRATA_TRY(RemoveSegment(*disk, path));
    return {};
  };
}

Status LogWriter::failed() const {
  const MutexLock lock(mutex_);
  return failed_;
}

Status LogWriter::Fail(const Status& error) {
  const MutexLock lock(mutex_);
  if (failed_.ok()) {
    // DISK_FULL would promise that nothing has changed.
    failed_ = error.code() == StatusCode::kDiskFull ? Failed(error.message()) : error;
  }
  return failed_;
}

Result<std::unique_ptr<WriteAheadLog>> OpenLog(const LogOptions& options, Lsn last) {
  auto log = std::make_unique<LogWriter>(options, last);
  STRATA_TRY(log->Open());
  return std::unique_ptr<WriteAheadLog>(std::move(log));
}

}  // namespace strata
