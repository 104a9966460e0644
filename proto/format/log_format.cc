#include "proto/format/log_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/hash.h"
#include "base/little_endian.h"

namespace strata::format {
namespace {

constexpr std::string_view kSegmentMagic = "STRATLOG";
constexpr uint32_t kRecordMagic = 0x43455253;   // "SREC"
constexpr uint32_t kTrailerMagic = 0x444e4553;  // "SEND"
constexpr size_t kSegmentCrcAt = kLogSegmentHeaderBytes - 4;
constexpr size_t kBootIdAt = 40;
constexpr size_t kRecordCrcAt = kLogRecordHeaderBytes - 4;

// The header's bytes before its checksum, and its place.
uint32_t RecordCrc(std::span<const std::byte> header, const LogPlace& place) {
  std::array<std::byte, kRecordCrcAt + 26> bytes;
  std::memcpy(bytes.data(), header.data(), kRecordCrcAt);
  std::byte* at = bytes.data() + kRecordCrcAt;
  StoreLittle(place.lineage, at);
  StoreLittle(place.lane, at + 8);
  StoreLittle(place.first_lsn, at + 10);
  StoreLittle(place.offset, at + 18);
  return Crc32c(bytes);
}

bool AllZero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

std::vector<std::byte> EncodeLogSegment(const LogSegment& segment) {
  STRATA_CHECK(segment.boot_id.size() <= kLogBootIdBytesMax);
  std::vector<std::byte> bytes(kLogSegmentHeaderBytes);
  std::memcpy(bytes.data(), kSegmentMagic.data(), kSegmentMagic.size());
  StoreLittle(kLogVersion, bytes.data() + 8);
  StoreLittle(segment.lane, bytes.data() + 10);
  StoreLittle(static_cast<uint8_t>(segment.boot_id.size()), bytes.data() + 12);
  StoreLittle(segment.lineage, bytes.data() + 16);
  StoreLittle(segment.first_lsn, bytes.data() + 24);
  StoreLittle(segment.synced_lsn, bytes.data() + 32);
  std::memcpy(bytes.data() + kBootIdAt, segment.boot_id.data(), segment.boot_id.size());
  StoreLittle(Crc32c(std::span(bytes).first(kSegmentCrcAt)), bytes.data() + kSegmentCrcAt);
  return bytes;
}

Result<LogSegment> DecodeLogSegment(std::span<const std::byte> bytes) {
  if (bytes.size() < kLogSegmentHeaderBytes) {
    return Corrupt(fmt::format("offset 0: expected a segment header of {} bytes, found {} bytes",
                               kLogSegmentHeaderBytes, bytes.size()));
  }
  bytes = bytes.first(kLogSegmentHeaderBytes);
  const auto crc = LoadLittle<uint32_t>(bytes.data() + kSegmentCrcAt);
  const uint32_t found = Crc32c(bytes.first(kSegmentCrcAt));
  const bool magic = std::memcmp(bytes.data(), kSegmentMagic.data(), kSegmentMagic.size()) == 0;
  if (crc != found) {
    return Corrupt(
        fmt::format("offset 0: expected a segment header{} with checksum {:08x}, found {:08x}",
                    magic ? "" : " that begins with \"STRATLOG\",", crc, found));
  }
  const auto version = LoadLittle<uint16_t>(bytes.data() + 8);
  if (!magic || version > kLogVersion) {
    return Invalid(fmt::format(
        "offset 0: expected a log segment of format version {} or older, found {}: use the "
        "strata-server that wrote it, or a newer one",
        kLogVersion, magic ? fmt::format("version {}", version) : "something else"));
  }
  LogSegment segment;
  segment.lane = LoadLittle<uint16_t>(bytes.data() + 10);
  const size_t boot_id_bytes = LoadLittle<uint8_t>(bytes.data() + 12);
  segment.lineage = LoadLittle<uint64_t>(bytes.data() + 16);
  segment.first_lsn = LoadLittle<uint64_t>(bytes.data() + 24);
  segment.synced_lsn = LoadLittle<uint64_t>(bytes.data() + 32);
  const size_t boot_id_end = kBootIdAt + std::min(boot_id_bytes, kLogBootIdBytesMax);
  const auto* boot_id = reinterpret_cast<const char*>(bytes.data() + kBootIdAt);
  segment.boot_id.assign(boot_id, boot_id_end - kBootIdAt);
  const bool zeros = AllZero(bytes.subspan(13, 3)) &&
                     AllZero(bytes.subspan(boot_id_end, kSegmentCrcAt - boot_id_end));
  if (version == 0 || boot_id_bytes > kLogBootIdBytesMax || !zeros || segment.first_lsn == 0 ||
      segment.synced_lsn >= segment.first_lsn) {
    return Corrupt("offset 0: expected a segment header, found one that makes no sense");
  }
  return segment;
}

void AppendLogRecord(const LogPlace& place, const LogRecordHeader& header,
                     std::span<const std::span<const std::byte>> body,
                     std::vector<std::byte>* out) {
  const size_t start = out->size();
  const size_t body_start = start + kLogRecordHeaderBytes;
  out->resize(body_start);
  for (const std::span<const std::byte> piece : body) {
    out->insert(out->end(), piece.begin(), piece.end());
  }
  const uint64_t body_bytes = out->size() - body_start;
  const uint64_t checksum = Hash64(std::span(*out).subspan(body_start));
  out->resize(start + static_cast<size_t>(LogRecordBytes(body_bytes)));

  std::byte* at = out->data() + start;
  StoreLittle(kRecordMagic, at);
  StoreLittle(header.kind, at + 4);
  StoreLittle(header.lsn, at + 8);
  StoreLittle(body_bytes, at + 16);
  StoreLittle(checksum, at + 24);
  StoreLittle(header.synced_lsn, at + 32);
  const uint32_t crc = RecordCrc(std::span(*out).subspan(start), place);
  StoreLittle(crc, at + kRecordCrcAt);
  std::byte* trailer = out->data() + out->size() - kLogRecordTrailerBytes;
  StoreLittle(crc, trailer);
  StoreLittle(kTrailerMagic, trailer + 4);
}

bool BeginsLogRecord(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && LoadLittle<uint32_t>(bytes.data()) == kRecordMagic;
}

Result<LogRecordHeader> DecodeLogRecordHeader(std::span<const std::byte> bytes,
                                              const LogPlace& place) {
  if (bytes.size() < kLogRecordHeaderBytes) {
    return Corrupt(fmt::format("expected a record header of {} bytes, found {} bytes",
                               kLogRecordHeaderBytes, bytes.size()));
  }
  const auto magic = LoadLittle<uint32_t>(bytes.data());
  if (magic != kRecordMagic) {
    return Corrupt(fmt::format("expected a record that begins with {:08x}, found {:08x}",
                               kRecordMagic, magic));
  }
  LogRecordHeader header;
  header.crc = LoadLittle<uint32_t>(bytes.data() + kRecordCrcAt);
  if (const uint32_t found = RecordCrc(bytes, place); found != header.crc) {
    return Corrupt(fmt::format("expected a record header with checksum {:08x}, found {:08x}",
                               header.crc, found));
  }
  header.kind = LoadLittle<uint16_t>(bytes.data() + 4);
  header.lsn = LoadLittle<uint64_t>(bytes.data() + 8);
  header.body_bytes = LoadLittle<uint64_t>(bytes.data() + 16);
  header.body_checksum = LoadLittle<uint64_t>(bytes.data() + 24);
  header.synced_lsn = LoadLittle<uint64_t>(bytes.data() + 32);
  if (!AllZero(bytes.subspan(6, 2)) || !AllZero(bytes.subspan(40, 4)) || header.lsn == 0 ||
      header.synced_lsn >= header.lsn || header.body_bytes > kLogBodyBytesMax) {
    return Corrupt("expected a record header, found one that makes no sense");
  }
  return header;
}

Status CheckLogRecord(const LogRecordHeader& header, std::span<const std::byte> bytes) {
  STRATA_CHECK(bytes.size() == LogRecordBytes(header.body_bytes));
  const std::span<const std::byte> body =
      bytes.subspan(kLogRecordHeaderBytes, static_cast<size_t>(header.body_bytes));
  const size_t body_end = kLogRecordHeaderBytes + body.size();
  const size_t trailer = bytes.size() - kLogRecordTrailerBytes;
  const auto crc = LoadLittle<uint32_t>(bytes.data() + trailer);
  const auto magic = LoadLittle<uint32_t>(bytes.data() + trailer + 4);
  if (crc != header.crc || magic != kTrailerMagic) {
    return Corrupt(
        fmt::format("expected the trailer {:08x} {:08x} {} bytes into the record, found "
                    "{:08x} {:08x}",
                    header.crc, kTrailerMagic, trailer, crc, magic));
  }
  if (const uint64_t found = Hash64(body); found != header.body_checksum) {
    return Corrupt(fmt::format("expected checksum {:016x} of a body of {} bytes, found {:016x}",
                               header.body_checksum, body.size(), found));
  }
  if (!AllZero(bytes.subspan(body_end, trailer - body_end))) {
    return Corrupt(
        fmt::format("expected zeros behind a body of {} bytes, found others", body.size()));
  }
  return {};
}

}  // namespace strata::format
