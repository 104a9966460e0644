// A log segment: the decoders on any bytes, and a replay of a log that consists of them.
#include <algorithm>
#include <span>
#include <string>

#include "proto/format/log_format.h"
#include "storage/log/log.h"
#include "storage/log/segment_files.h"
#include "strata/status.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/sim_disk.h"

namespace strata::fuzz {
namespace {

LogOptions Options(SimDisk* disk) {
  return {.disk = disk, .folder = "lane", .lineage = 7, .lane = 1, .boot_id = "boot"};
}

void PutSegment(SimDisk& disk, std::span<const std::byte> bytes) {
  STRATA_CHECK(disk.MakeFolder("lane").ok());
  auto file = disk.Create(SegmentPath("lane", 1));
  STRATA_CHECK(file.ok() && (*file)->Append(bytes).ok());
}

void Decode(std::span<const std::byte> bytes) {
  const auto segment = format::DecodeLogSegment(bytes);
  if (segment.ok()) {
    STRATA_CHECK(std::ranges::equal(format::EncodeLogSegment(*segment),
                                    bytes.first(format::kLogSegmentHeaderBytes)));
  }
  const format::LogPlace place = {
      .lineage = 7, .lane = 1, .first_lsn = 1, .offset = format::kLogSegmentHeaderBytes};
  if (bytes.size() < format::kLogSegmentHeaderBytes) return;
  bytes = bytes.subspan(format::kLogSegmentHeaderBytes);
  const auto header = format::DecodeLogRecordHeader(bytes, place);
  if (!header.ok() || format::LogRecordBytes(header->body_bytes) > bytes.size()) return;
  bytes = bytes.first(static_cast<size_t>(format::LogRecordBytes(header->body_bytes)));
  if (!format::CheckLogRecord(*header, bytes).ok()) return;
  const std::span<const std::byte> body[] = {
      bytes.subspan(format::kLogRecordHeaderBytes, static_cast<size_t>(header->body_bytes))};
  std::vector<std::byte> again;
  format::AppendLogRecord(place, *header, body, &again);
  STRATA_CHECK(std::ranges::equal(again, bytes));
}

// What replay says is there stays there once the log has been opened behind it.
void ReplayAndReopen(std::span<const std::byte> bytes) {
  SimDisk disk;
  PutSegment(disk, bytes);
  LogOptions options = Options(&disk);
  const auto nothing = [](const LogRecord&) { return Status(); };
  for (const char* boot_id : {"boot", "another"}) {
    options.boot_id = boot_id;
    const auto summary = ReplayLog(options, 1, nothing);
    if (!summary.ok()) continue;
    options.segment_bytes = 4096;
    const auto log = OpenLog(options, summary->last);
    STRATA_CHECK(log.ok());
    const auto again = ReplayLog(options, 1, nothing);
    STRATA_CHECK(again.ok() && again->last == summary->last && !again->torn.has_value());
    return;
  }
}

}  // namespace

std::vector<Bytes> Seeds() {
  SimDisk disk;
  const auto log = OpenLog(Options(&disk), 0);
  STRATA_CHECK(log.ok());
  for (const size_t bytes : {0, 5, 8, 40, 100}) {
    const Bytes body(bytes, std::byte{0x5a});
    const std::span<const std::byte> pieces[] = {body};
    STRATA_CHECK((*log)->Append(RecordKind::kWrites, pieces).ok());
    STRATA_CHECK((*log)->Write().ok() && (*log)->Sync().ok());
  }
  const auto content = ReadFile(disk, SegmentPath("lane", 1), 1 << 20);
  STRATA_CHECK(content.ok());
  const auto bytes = std::as_bytes(std::span(*content));
  return {Bytes(bytes.begin(), bytes.end())};
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  strata::fuzz::Decode(input);
  strata::fuzz::ReplayAndReopen(input);
  // Behind a header that is right, so that chance gets to the records.
  strata::fuzz::Bytes bytes = strata::format::EncodeLogSegment(
      {.lineage = 7, .lane = 1, .first_lsn = 1, .synced_lsn = 0, .boot_id = "boot"});
  const auto records = input.subspan(std::min(size, bytes.size()));
  bytes.insert(bytes.end(), records.begin(), records.end());
  strata::fuzz::ReplayAndReopen(bytes);
  return 0;
}
