#include "worker/data/file/line_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/worker/text_disk.h"

namespace strata {
namespace {

using Lines = std::vector<std::pair<uint64_t, std::string>>;

// The oracle: one character at a time.
Lines NaiveLines(const std::string& text, size_t data_begin) {
  Lines lines;
  std::string line;
  size_t begin = data_begin;
  for (size_t i = data_begin; i < text.size(); ++i) {
    if (text[i] != '\n') {
      line += text[i];
      continue;
    }
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.emplace_back(begin, line);
    line.clear();
    begin = i + 1;
  }
  if (begin < text.size()) lines.emplace_back(begin, line);
  return lines;
}

Lines ReadRange(const TextFile& file, ByteRange range, size_t data_begin, size_t block_bytes) {
  LineReader reader(&file, {range, data_begin, file.Size().value(), block_bytes});
  Lines lines;
  Line line;
  while (true) {
    Result<bool> read = reader.Next(&line);
    EXPECT_TRUE(read.ok()) << read.status().ToString();
    if (!read.ok() || !*read) break;
    lines.emplace_back(line.offset, std::string(line.text));
  }
  EXPECT_EQ(reader.lines_read(), lines.size());
  EXPECT_EQ(reader.Progress(), 1.0);
  return lines;
}

bool ReadsALine(LineReader& reader, Line* line) {
  const Result<bool> read = reader.Next(line);
  EXPECT_TRUE(read.ok()) << read.status().ToString();
  return read.ok() && *read;
}

const std::string kShapes[] = {
    "a,b\nc,d\ne,f\n",
    "a,b\nc,d\nno newline at the end",
    "crlf\r\nx\r\n\r\nlast\r\n",
    "\n\n\nblank\n\n",
    "one line only",
    "one line\n",
    "\n",
    "x",
    "a\n\nbb\n\n\nccc\n\n\n\ndddd",
    "lone\rcarriage\nreturn\r",
    "a long line of more than a block, so that it has to be carried over\nb\n",
};

TEST(LineReader, EveryCutInTwoReadsEachLineOnce) {
  for (const std::string& text : kShapes) {
    const TextFile file(text);
    const Lines expected = NaiveLines(text, 0);
    for (size_t block : {1, 2, 3, 7, 16, 1024}) {
      for (uint64_t cut = 0; cut <= text.size(); ++cut) {
        Lines lines = ReadRange(file, {0, cut}, 0, block);
        const Lines rest = ReadRange(file, {cut, text.size()}, 0, block);
        lines.insert(lines.end(), rest.begin(), rest.end());
        ASSERT_EQ(lines, expected) << "cut " << cut << " block " << block << " of " << text;
      }
    }
  }
}

// Every way to cut a short file into three, empty parts included.
TEST(LineReader, EveryTwoCutsReadEachLineOnce) {
  for (const std::string& text : kShapes) {
    const TextFile file(text);
    const Lines expected = NaiveLines(text, 0);
    for (uint64_t first = 0; first <= text.size(); ++first) {
      for (uint64_t second = first; second <= text.size(); ++second) {
        Lines lines = ReadRange(file, {0, first}, 0, 5);
        for (const ByteRange range : {ByteRange{first, second}, ByteRange{second, text.size()}}) {
          const Lines part = ReadRange(file, range, 0, 5);
          lines.insert(lines.end(), part.begin(), part.end());
        }
        ASSERT_EQ(lines, expected) << first << " " << second << " of " << text;
      }
    }
  }
}

TEST(LineReader, OneToSevenWorkersReadEachLineOnceAtEverySize) {
  Random random(7);
  std::string text;
  for (int i = 0; i < 40; ++i) {
    text += std::string(random.Below(9), static_cast<char>('a' + i % 26));
    text += random.Chance(0.3) ? "\r\n" : "\n";
  }
  // Cutting off the end moves every cut over every byte.
  for (size_t size = 1; size <= text.size(); ++size) {
    const TextFile file(text.substr(0, size));
    for (size_t data_begin : {size_t{0}, size / 3}) {
      const Lines expected = NaiveLines(text.substr(0, size), data_begin);
      for (uint32_t world = 1; world <= 7; ++world) {
        Lines lines;
        for (uint32_t rank = 0; rank < world; ++rank) {
          const Lines part = ReadRange(file, RangeOf(size, {rank, world}), data_begin, 11);
          lines.insert(lines.end(), part.begin(), part.end());
        }
        ASSERT_EQ(lines, expected) << "size " << size << " world " << world;
      }
    }
  }
}

TEST(LineReader, RangesOfHugeFilesJoin) {
  const uint64_t size = UINT64_MAX - 5;
  uint64_t next = 0;
  for (uint32_t rank = 0; rank < 7; ++rank) {
    const ByteRange range = RangeOf(size, {rank, 7});
    EXPECT_EQ(range.begin, next);
    next = range.end;
  }
  EXPECT_EQ(next, size);
}

TEST(LineReader, RewindReadsTheSameAgain) {
  const std::string text = "aa\nbb\ncc\ndd\n";
  const TextFile file(text);
  LineReader reader(&file, {{4, 12}, 0, text.size(), 4});
  for (int pass = 0; pass < 2; ++pass) {
    Line line;
    ASSERT_TRUE(ReadsALine(reader, &line));
    EXPECT_EQ(line.text, "cc");
    EXPECT_EQ(line.offset, 6U);
    EXPECT_EQ(reader.LinesEstimated(), 2U);
    ASSERT_TRUE(ReadsALine(reader, &line));
    EXPECT_FALSE(ReadsALine(reader, &line));
    reader.Rewind();
    EXPECT_EQ(reader.lines_read(), 0U);
    EXPECT_EQ(reader.Progress(), 0.0);
  }
}

TEST(LineReader, EstimatesTheLinesOfItsRange) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "12345678\n";
  const TextFile file(text);
  LineReader reader(&file, {{0, text.size()}, 0, text.size(), 64});
  Line line;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(ReadsALine(reader, &line));
  EXPECT_EQ(reader.LinesEstimated(), 1000U);
  EXPECT_NEAR(reader.Progress(), 0.01, 1e-9);
}

TEST(LineReader, OverlongLineIsAnErrorThatSaysWhere) {
  const std::string text = "ok\n" + std::string(kLineBytesMax + 2, 'x');
  const TextFile file(text);
  LineReader reader(&file, {{0, text.size()}, 0, text.size(), 1 << 16});
  Line line;
  ASSERT_TRUE(ReadsALine(reader, &line));
  const Result<bool> read = reader.Next(&line);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), StatusCode::kInvalid);
  EXPECT_NE(read.status().message().find("byte 3"), std::string::npos) << read.status().message();
}

TEST(LineReader, FileThatBecameShorterIsAnError) {
  TextFile file("aaaa\nbbbb\ncccc\n");
  LineReader reader(&file, {{0, 15}, 0, 15, 4});
  file.CutTo(9);
  Line line;
  ASSERT_TRUE(ReadsALine(reader, &line));
  const Result<bool> read = reader.Next(&line);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), StatusCode::kFailed);
}

}  // namespace
}  // namespace strata
