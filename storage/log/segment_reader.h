// Reads one segment of a log from its beginning, in large blocks; bodies are views into them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/file/disk.h"
#include "proto/format/log_format.h"
#include "storage/log/log.h"
#include "strata/status.h"

namespace strata {

// A record that does not check, or an end where a record was expected.
struct BadRecord {
  uint64_t offset = 0;
  std::string reason;
  bool cut_short = false;  // the file ends within it
};

// One thread.
class SegmentReader {
 public:
  // Checks the segment header: kCorrupt names file, offset, expected and found when the segment is
  // damaged, of another lineage or lane, or lies under another one's name.
  static Result<SegmentReader> Open(const LogOptions& options, Lsn first, const std::string& path);

  // The next record, whose LSN must be `expected`; nothing at the end of the file, and at a bad
  // record, which bad() tells then. A body is valid until the next call. An error is the disk's.
  Result<std::optional<LogRecord>> Next(Lsn expected);

  // The next valid record header at or behind offset(), wherever it lies, and goes behind it;
  // nothing when there is none up to the end of the file. For what lies behind a bad record.
  Result<std::optional<format::LogRecordHeader>> FindHeader();

  const std::optional<BadRecord>& bad() const { return bad_; }
  const format::LogSegment& segment() const { return segment_; }
  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }      // of the file
  uint64_t offset() const { return offset_; }  // of what is read next

 private:
  SegmentReader(std::unique_ptr<File> file, std::string path, uint64_t size)
      : file_(std::move(file)), path_(std::move(path)), size_(size) {}

  Result<std::span<const std::byte>> Bytes(uint64_t offset, uint64_t bytes);
  format::LogPlace PlaceOf(uint64_t offset) const;
  void SetBad(std::string reason, bool cut_short);

  std::unique_ptr<File> file_;
  std::string path_;
  uint64_t size_ = 0;
  format::LogSegment segment_;
  uint64_t offset_ = 0;
  std::optional<BadRecord> bad_;

  // The part of the file that is in memory.
  std::unique_ptr<std::byte[]> block_;
  uint64_t block_offset_ = 0;
  size_t block_bytes_ = 0;
  size_t block_capacity_ = 0;
};

}  // namespace strata
