// The write-ahead log of a lane as it lies on disk. A log is a folder of segments, each named
// segment-<first LSN, 20 digits>.log: a segment header, then records, one behind the other, in the
// order of their log sequence numbers (LSN). What was appended never changes. All numbers are
// little-endian; bytes that are not named are 0, and are checked to be.
//
// Segment header, 128 bytes:
//   0   8  magic "STRATLOG"
//   8   2  format version
//   10  2  lane
//   12  1  length of the boot id
//   16  8  lineage of the server's state
//   24  8  LSN of the first record
//   32  8  LSN up to which the log was on stable storage when the segment was begun
//   40 64  boot id: one run of the kernel that wrote it
//   124 4  CRC-32C of bytes 0 to 123
//
// Record, a multiple of 16 bytes: header, body, zeros, trailer.
//   0   4  magic "SREC"
//   4   2  kind, whose meaning is the log's reader's
//   8   8  LSN
//   16  8  body bytes
//   24  8  XXH3-64 of the body: knows no place, so that a body may be shipped with it
//   32  8  LSN up to which the log was on stable storage when the record was made
//   44  4  CRC-32C of bytes 0 to 43 and of the place where the record lies, 26 bytes: lineage,
//   lane,
//          first LSN of its segment, offset in it. A record that lies elsewhere is not believed.
//   48     body
//   -8  4  the same CRC-32C once more: the record was written to its end
//   -4  4  magic "SEND"
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "strata/status.h"

namespace strata::format {

constexpr uint16_t kLogVersion = 1;
constexpr size_t kLogSegmentHeaderBytes = 128;
constexpr size_t kLogBootIdBytesMax = 64;
constexpr size_t kLogRecordHeaderBytes = 48;
constexpr size_t kLogRecordTrailerBytes = 8;
constexpr size_t kLogRecordAlignment = 16;
constexpr uint64_t kLogBodyBytesMax = uint64_t{1} << 40;

struct LogSegment {
  uint64_t lineage = 0;
  uint16_t lane = 0;
  uint64_t first_lsn = 0;
  uint64_t synced_lsn = 0;
  std::string boot_id;  // at most kLogBootIdBytesMax bytes

  friend bool operator==(const LogSegment&, const LogSegment&) = default;
};

// Where a record lies.
struct LogPlace {
  uint64_t lineage = 0;
  uint16_t lane = 0;
  uint64_t first_lsn = 0;  // of its segment
  uint64_t offset = 0;     // in it
};

struct LogRecordHeader {
  uint16_t kind = 0;
  uint64_t lsn = 0;
  uint64_t body_bytes = 0;
  uint64_t body_checksum = 0;
  uint64_t synced_lsn = 0;
  uint32_t crc = 0;  // of the header at its place: decoding fills it in, encoding ignores it

  friend bool operator==(const LogRecordHeader&, const LogRecordHeader&) = default;
};

// kLogSegmentHeaderBytes bytes.
std::vector<std::byte> EncodeLogSegment(const LogSegment& segment);

// `bytes` begin where the file does; there may be fewer than a header's. Messages say what is wrong
// with which bytes, not in which file. kInvalid: not a segment, or of a newer version; kCorrupt:
// bytes are missing or changed.
Result<LogSegment> DecodeLogSegment(std::span<const std::byte> bytes);

// What a record with such a body occupies, from its header to its trailer.
constexpr uint64_t LogRecordBytes(uint64_t body_bytes) {
  const uint64_t bytes = kLogRecordHeaderBytes + body_bytes + kLogRecordTrailerBytes;
  return (bytes + kLogRecordAlignment - 1) / kLogRecordAlignment * kLogRecordAlignment;
}

// Puts a record behind what `out` holds. body_bytes and body_checksum come from the body, whose
// pieces are given.
void AppendLogRecord(const LogPlace& place, const LogRecordHeader& header,
                     std::span<const std::span<const std::byte>> body, std::vector<std::byte>* out);

// Whether there is a record's magic: a quick look before the next function.
bool BeginsLogRecord(std::span<const std::byte> bytes);

// The header of the record at `place`, where `bytes` begin; only its own bytes are read. kCorrupt:
// there is none, or one that was written elsewhere. body_bytes is at most kLogBodyBytesMax.
Result<LogRecordHeader> DecodeLogRecordHeader(std::span<const std::byte> bytes,
                                              const LogPlace& place);

// Checks all of a record but its header, which `header` is: `bytes` are its
// LogRecordBytes(header.body_bytes) bytes. kCorrupt says where in the record.
Status CheckLogRecord(const LogRecordHeader& header, std::span<const std::byte> bytes);

}  // namespace strata::format
