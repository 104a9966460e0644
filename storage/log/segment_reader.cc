#include "storage/log/segment_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace strata {
namespace {

constexpr size_t kBlockBytes = size_t{4} << 20;

}  // namespace

Result<SegmentReader> SegmentReader::Open(const LogOptions& options, Lsn first,
                                          const std::string& path) {
  STRATA_ASSIGN(std::unique_ptr<File> file, options.disk->OpenToRead(path));
  STRATA_ASSIGN(const uint64_t size, file->Size());
  SegmentReader reader(std::move(file), path, size);
  STRATA_ASSIGN(const std::span<const std::byte> header,
                reader.Bytes(0, std::min<uint64_t>(size, format::kLogSegmentHeaderBytes)));
  Result<format::LogSegment> segment = format::DecodeLogSegment(header);
  if (!segment.ok()) return segment.status().Prefixed(path);
  const auto wrong = [&](std::string_view what, uint64_t expected, uint64_t found) {
    return Corrupt(fmt::format("{}: offset 0: expected a segment of {} {}, found one of {} {}",
                               path, what, expected, what, found));
  };
  if (segment->lineage != options.lineage) {
    return wrong("lineage", options.lineage, segment->lineage);
  }
  if (segment->lane != options.lane) return wrong("lane", options.lane, segment->lane);
  if (segment->first_lsn != first) return wrong("first LSN", first, segment->first_lsn);
  reader.segment_ = *std::move(segment);
  reader.offset_ = format::kLogSegmentHeaderBytes;
  return reader;
}

Result<std::optional<LogRecord>> SegmentReader::Next(Lsn expected) {
  if (bad_.has_value() || offset_ == size_) return std::optional<LogRecord>();
  const uint64_t left = size_ - offset_;
  STRATA_ASSIGN(const std::span<const std::byte> start,
                Bytes(offset_, std::min<uint64_t>(left, format::kLogRecordHeaderBytes)));
  const auto header = format::DecodeLogRecordHeader(start, PlaceOf(offset_));
  if (!header.ok()) {
    SetBad(header.status().message(), left < format::kLogRecordHeaderBytes);
    return std::optional<LogRecord>();
  }
  if (header->lsn != expected) {
    SetBad(fmt::format("expected the record of LSN {}, found that of {}", expected, header->lsn),
           false);
    return std::optional<LogRecord>();
  }
  const uint64_t bytes = format::LogRecordBytes(header->body_bytes);
  if (bytes > left) {
    SetBad(fmt::format("expected a record of {} bytes, found {} bytes up to the end of the file",
                       bytes, left),
           true);
    return std::optional<LogRecord>();
  }
  STRATA_ASSIGN(const std::span<const std::byte> record, Bytes(offset_, bytes));
  if (const Status checked = format::CheckLogRecord(*header, record); !checked.ok()) {
    SetBad(checked.message(), false);
    return std::optional<LogRecord>();
  }
  offset_ += bytes;
  return std::optional(LogRecord{.kind = static_cast<RecordKind>(header->kind),
                                 .lsn = header->lsn,
                                 .body = record.subspan(format::kLogRecordHeaderBytes,
                                                        static_cast<size_t>(header->body_bytes)),
                                 .synced_lsn = header->synced_lsn});
}

Result<std::optional<format::LogRecordHeader>> SegmentReader::FindHeader() {
  while (offset_ + format::kLogRecordHeaderBytes <= size_) {
    const uint64_t at = offset_;
    STRATA_ASSIGN(const std::span<const std::byte> bytes, Bytes(at, format::kLogRecordHeaderBytes));
    offset_ += format::kLogRecordAlignment;
    if (!format::BeginsLogRecord(bytes)) continue;
    const auto header = format::DecodeLogRecordHeader(bytes, PlaceOf(at));
    if (header.ok()) return std::optional(*header);
  }
  return std::optional<format::LogRecordHeader>();
}

// The bytes of the file from `offset` on, which are within it.
Result<std::span<const std::byte>> SegmentReader::Bytes(uint64_t offset, uint64_t bytes) {
  STRATA_CHECK(offset <= size_ && bytes <= size_ - offset);
  const bool here = offset >= block_offset_ && offset + bytes <= block_offset_ + block_bytes_;
  if (!here) {
    const auto wanted = static_cast<size_t>(
        std::min<uint64_t>(std::max<uint64_t>(bytes, kBlockBytes), size_ - offset));
    if (wanted > block_capacity_) {
      block_ = std::make_unique_for_overwrite<std::byte[]>(wanted);
      block_capacity_ = wanted;
    }
    block_bytes_ = 0;
    // While records of this block are applied, the disk brings the next.
    file_->WillRead(offset + wanted, kBlockBytes);
    STRATA_ASSIGN(const size_t got, file_->ReadAt(offset, std::span(block_.get(), wanted)));
    if (got != wanted) {
      return Failed(
          fmt::format("{}: expected {} bytes at offset {}, found {}: somebody truncates it", path_,
                      wanted, offset, got));
    }
    block_offset_ = offset;
    block_bytes_ = got;
  }
  return std::span<const std::byte>(block_.get() + (offset - block_offset_),
                                    static_cast<size_t>(bytes));
}

format::LogPlace SegmentReader::PlaceOf(uint64_t offset) const {
  return {.lineage = segment_.lineage,
          .lane = segment_.lane,
          .first_lsn = segment_.first_lsn,
          .offset = offset};
}

void SegmentReader::SetBad(std::string reason, bool cut_short) {
  bad_ = BadRecord{.offset = offset_, .reason = std::move(reason), .cut_short = cut_short};
}

}  // namespace strata
