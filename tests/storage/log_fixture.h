// What the tests of the log share: records whose bytes follow from their LSN, and a reading that
// checks them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/disk.h"
#include "base/random.h"
#include "storage/log/log.h"
#include "storage/log/segment_files.h"

namespace strata::log_test {

struct Record {
  RecordKind kind{};
  std::vector<std::byte> body;
  bool operator==(const Record&) const = default;
};

// The record that every test writes under this LSN in a log of this salt.
inline Record RecordOf(Lsn lsn, uint64_t salt, size_t bytes_max) {
  Random random(lsn * 0x9e3779b97f4a7c15ULL + salt);
  Record record{static_cast<RecordKind>(1 + random.Below(5)), {}};
  record.body.resize(static_cast<size_t>(random.Below(bytes_max + 1)));
  for (std::byte& b : record.body) b = static_cast<std::byte>(random.Next());
  return record;
}

// Appends the record in up to three pieces.
inline Result<Lsn> AppendRecord(WriteAheadLog& log, const Record& record) {
  const std::span<const std::byte> body = record.body;
  const size_t a = body.size() / 3;
  const size_t b = body.size() / 2;
  const std::span<const std::byte> pieces[] = {body.first(a), body.subspan(a, b - a),
                                               body.subspan(b)};
  return log.Append(record.kind, pieces);
}

struct Replayed {
  Result<ReplaySummary> summary = Failed("not run");
  std::vector<Record> records;  // records[i] has LSN from + i
};

inline Replayed ReplayAll(const LogOptions& options, Lsn from = 1) {
  Replayed replayed;
  replayed.summary = ReplayLog(options, from, [&](const LogRecord& record) -> Status {
    EXPECT_EQ(record.lsn, from + replayed.records.size());
    replayed.records.push_back({record.kind, {record.body.begin(), record.body.end()}});
    return {};
  });
  return replayed;
}

inline std::vector<std::byte> ReadBytes(Disk& disk, const std::string& path) {
  Result<std::string> content = ReadFile(disk, path, uint64_t{1} << 30);
  EXPECT_TRUE(content.ok()) << content.status().ToString();
  const auto bytes = std::as_bytes(std::span(*content));
  return {bytes.begin(), bytes.end()};
}

inline void WriteBytes(Disk& disk, const std::string& path, std::span<const std::byte> bytes) {
  Result<std::unique_ptr<File>> file = disk.Create(path);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  ASSERT_TRUE((*file)->Append(bytes).ok());
}

inline std::vector<SegmentFile> Segments(const LogOptions& options) {
  Result<LogFolder> folder = ListLogFolder(options);
  EXPECT_TRUE(folder.ok()) << folder.status().ToString();
  return folder->segments;
}

}  // namespace strata::log_test
