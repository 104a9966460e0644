// The bytes of segments and records, pinned.
#include "proto/format/log_format.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/hash.h"

namespace strata::format {
namespace {

constexpr LogPlace kPlace = {
    .lineage = 0x123456789abc, .lane = 3, .first_lsn = 1000, .offset = kLogSegmentHeaderBytes};

const LogSegment& Segment() {
  static const LogSegment segment = {.lineage = kPlace.lineage,
                                     .lane = kPlace.lane,
                                     .first_lsn = kPlace.first_lsn,
                                     .synced_lsn = 990,
                                     .boot_id = "d2719d0c-7fd2-4a0f-b0e1-1d1d7d1a1b1c"};
  return segment;
}

std::vector<std::byte> Body() {
  std::vector<std::byte> body(21);
  for (size_t i = 0; i < body.size(); ++i) body[i] = static_cast<std::byte>(i * 7 + 1);
  return body;
}

std::vector<std::byte> Record() {
  const std::vector<std::byte> body = Body();
  const std::span<const std::byte> pieces[] = {std::span(body).first(4),
                                               std::span(body).subspan(4)};
  std::vector<std::byte> bytes;
  AppendLogRecord(kPlace, {.kind = 2, .lsn = 1000, .synced_lsn = 995}, pieces, &bytes);
  return bytes;
}

// Sixteen bytes a line, with the offset before them.
std::string Dump(std::span<const std::byte> bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i % 16 == 0) text += fmt::format("{}{:04x}", i == 0 ? "" : "\n", i);
    text += fmt::format(" {:02x}", static_cast<int>(bytes[i]));
  }
  return text + "\n";
}

void ExpectGolden(const std::string& name, std::span<const std::byte> bytes) {
  const std::string path = std::string(STRATA_GOLDEN_DIR) + "/" + name;
  if (std::getenv("STRATA_GOLDEN_WRITE") != nullptr) std::ofstream(path) << Dump(bytes);
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(golden.str(), Dump(bytes)) << path;
}

TEST(LogFormatTest, SegmentsAndRecordsHaveTheseBytes) {
  ExpectGolden("log_segment.hex", EncodeLogSegment(Segment()));
  ExpectGolden("log_record.hex", Record());
}

TEST(LogFormatTest, WhatIsEncodedIsDecoded) {
  EXPECT_EQ(*DecodeLogSegment(EncodeLogSegment(Segment())), Segment());
  const std::vector<std::byte> record = Record();
  ASSERT_EQ(record.size(), LogRecordBytes(21));
  const auto header = DecodeLogRecordHeader(record, kPlace);
  ASSERT_TRUE(header.ok()) << header.status().ToString();
  const LogRecordHeader expected = {.kind = 2,
                                    .lsn = 1000,
                                    .body_bytes = 21,
                                    .body_checksum = Hash64(Body()),
                                    .synced_lsn = 995,
                                    .crc = header->crc};
  EXPECT_EQ(*header, expected);
  EXPECT_TRUE(CheckLogRecord(*header, record).ok());
}

TEST(LogFormatTest, RecordsAreWholeNumbersOfSixteenBytes) {
  for (uint64_t body = 0; body < 200; ++body) {
    const uint64_t bytes = LogRecordBytes(body);
    EXPECT_EQ(bytes % kLogRecordAlignment, 0u);
    EXPECT_GE(bytes, kLogRecordHeaderBytes + body + kLogRecordTrailerBytes);
    EXPECT_LT(bytes, kLogRecordHeaderBytes + body + kLogRecordTrailerBytes + kLogRecordAlignment);
  }
}

TEST(LogFormatTest, AHeaderIsBelievedAtItsPlaceOnly) {
  const std::vector<std::byte> record = Record();
  std::array<LogPlace, 4> others = {kPlace, kPlace, kPlace, kPlace};
  others[0].lineage += 1;
  others[1].lane += 1;
  others[2].first_lsn += 1;
  others[3].offset += 16;
  for (const LogPlace& place : others) {
    EXPECT_EQ(DecodeLogRecordHeader(record, place).status().code(), StatusCode::kCorrupt);
  }
}

}  // namespace
}  // namespace strata::format
