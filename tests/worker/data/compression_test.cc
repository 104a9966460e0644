// Compressed files: what they decode to, whatever pieces they are written and read in, and what is
// said of damaged ones.
#include "worker/data/file/compression.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "tests/worker/compress.h"
#include "tests/worker/text_disk.h"
#include "worker/data/feature/feature_statistics.h"
#include "worker/data/text/csv_reader.h"

namespace strata {
namespace {

using testing::HasSubstr;

std::string RandomText(Random& random, size_t bytes_max) {
  std::string text;
  const size_t bytes = random.Below(bytes_max + 1);
  const uint64_t letters = 1 + random.Below(200);
  while (text.size() < bytes) text += static_cast<char>(random.Below(letters));
  return text;
}

// The text in several members or frames, some of which are empty.
std::string InParts(Random& random, Compression compression, std::string_view text) {
  std::string out;
  do {
    const size_t size = random.Chance(0.3) ? text.size() : random.Below(text.size() + 1);
    const int level = static_cast<int>(random.Below(10));
    const std::string_view part = text.substr(0, size);
    out += compression == Compression::kGzip ? Gzip(part, level) : Zstd(part, level);
    if (compression == Compression::kZstd && random.Chance(0.3)) {
      out += std::string("\x53\x2a\x4d\x18\x03\x00\x00\x00xyz", 11);  // to be skipped
    }
    text.remove_prefix(size);
  } while (!text.empty());
  return out;
}

// All bytes of the file, or the error.
Result<std::string> Decode(const std::string& bytes, size_t step = 1 << 16) {
  const TextFile file(bytes);
  const auto decoded = DecodedBytes::Make(CompressionOf(bytes), &file, bytes.size());
  std::string text;
  while (true) {
    const size_t before = text.size();
    text.resize(before + step);
    const auto space = std::as_writable_bytes(std::span(text).subspan(before));
    STRATA_ASSIGN(const size_t read, decoded->ReadAt(before, space));
    text.resize(before + read);
    if (read < step) return text;
  }
}

TEST(DecodedBytes, AreThoseThatWereCompressedInWhateverPieces) {
  Random random(2);
  for (const Compression compression : {Compression::kGzip, Compression::kZstd}) {
    for (int round = 0; round < 300; ++round) {
      const std::string text = RandomText(random, round % 10 == 0 ? 300'000 : 3000);
      const std::string bytes = InParts(random, compression, text);
      ASSERT_EQ(CompressionOf(bytes), compression);
      const auto decoded = Decode(bytes, 1 + random.Below(2 * text.size() + 1));
      ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
      ASSERT_TRUE(*decoded == text);
      // Anywhere, back and forth.
      const TextFile file(bytes);
      const auto reader = DecodedBytes::Make(compression, &file, bytes.size());
      for (int i = 0; i < 5; ++i) {
        const size_t offset = random.Below(text.size() + 10);
        std::string piece(random.Below(100), '\0');
        const auto read = reader->ReadAt(offset, std::as_writable_bytes(std::span(piece)));
        ASSERT_TRUE(read.ok()) << read.status().ToString();
        piece.resize(*read);
        EXPECT_EQ(piece, offset >= text.size() ? "" : text.substr(offset, piece.size()));
        EXPECT_LE(reader->Progress(), 1);
      }
    }
  }
}

TEST(DecodedBytes, AFileThatIsCutAnywhereIsAnError) {
  Random random(7);
  const std::string text = RandomText(random, 400) + "the end";
  for (const std::string& bytes :
       {Gzip(text), Zstd(text), Gzip("") + Gzip(text), Zstd("") + Zstd(text)}) {
    const size_t whole =
        bytes.size() -
        (CompressionOf(bytes) == Compression::kGzip ? Gzip(text) : Zstd(text)).size();
    for (size_t size = 4; size < bytes.size(); ++size) {
      const auto decoded = Decode(bytes.substr(0, size));
      if (size == whole) continue;  // between two members
      ASSERT_FALSE(decoded.ok()) << size;
      EXPECT_EQ(decoded.status().code(), StatusCode::kInvalid);
      EXPECT_THAT(decoded.status().message(), HasSubstr("cut short; copy it again"));
      EXPECT_THAT(decoded.status().message(), HasSubstr(fmt::format("byte {} of the file", size)));
    }
  }
}

// Flips of bits that matter to nobody, such as the time in a gzip header, change nothing.
TEST(DecodedBytes, AFlippedBitIsAnErrorOrHarmless) {
  Random random(9);
  std::string text;
  for (int i = 0; i < 400; ++i) text += static_cast<char>(random.Below(256));
  for (const std::string& bytes : {Gzip(text), Zstd(text)}) {
    size_t errors = 0;
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      std::string bad = bytes;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
      if (CompressionOf(bad) == Compression::kNone) continue;
      const auto decoded = Decode(bad);
      const bool is_equal = decoded.ok() && *decoded == text;
      EXPECT_TRUE(!decoded.ok() || is_equal) << bit;
      errors += decoded.ok() ? 0 : 1;
    }
    EXPECT_GT(errors, 6 * bytes.size());
  }
}

TEST(DecodedBytes, SayWhatIsWrongAndWhere) {
  const std::string text(1000, 'a');
  std::string checksum = Gzip(text);
  checksum[checksum.size() - 8] ^= 1;
  std::string zstd_checksum = Zstd(text);
  zstd_checksum.back() ^= 1;
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {checksum, {"compressed with gzip: the data is damaged (incorrect data check)", "copy the"}},
      {zstd_checksum, {"compressed with zstd: the data is damaged (Restored data doesn't match"}},
      {Gzip(text) + "more",
       {fmt::format("byte {} of the file", Gzip(text).size()),
        "the data ends here, but the file goes on with 'more': expected its end or more data of "
        "gzip; remove what is behind it"}},
      {Gzip(text) + std::string(3, '\0'), {"the file goes on with"}},
      {Gzip(text) + Zstd(text), {"expected its end or more data of gzip"}},
      {Zstd(text) + "x", {fmt::format("byte {} of the file", Zstd(text).size()), "with 'x'"}},
      {ZstdOfWindow(28), {"its window is above 128 MiB", "--long=27"}},
      {ZstdOfWindow(41), {"compressed with zstd"}},
  };
  for (const auto& [bytes, texts] : cases) {
    const auto decoded = Decode(bytes);
    ASSERT_FALSE(decoded.ok()) << texts[0];
    for (const std::string& expected : texts) {
      EXPECT_THAT(decoded.status().message(), HasSubstr(expected));
    }
  }
  EXPECT_EQ(Decode(ZstdOfWindow(27)).value(), "");
}

DataSpec Spec() {
  DataSpec spec;
  spec.format.header = true;
  spec.format.bad_share_max = 1;
  spec.features = {{.column = "x", .kind = FeatureKind::kNumeric},
                   {.column = "city", .kind = FeatureKind::kCategorical}};
  spec.label = "y";
  return spec;
}

// What readers of all shares find, bad rows with their places.
struct Found {
  std::vector<std::string> rows;
  uint64_t hash = 0;
  std::vector<size_t> of_ranks;
};

Found ReadAllShares(TextDisk& disk, const std::vector<std::string>& paths, uint32_t world) {
  Found found;
  FeatureStatistics merged(2);
  for (uint32_t rank = 0; rank < world; ++rank) {
    const TextOptions options = {
        .share = {rank, world}, .keep_bad_rows = true, .log_bad_lines = false, .block_bytes = 100};
    auto reader = CsvReader::Open(disk, paths, Spec(), options);
    EXPECT_TRUE(reader.ok()) << reader.status().ToString();
    if (!reader.ok()) return found;
    const size_t before = found.rows.size();
    for (int pass = 0; pass < 2; ++pass) {
      found.rows.resize(before);
      (*reader)->Rewind();
      DataRow row;
      while (true) {
        const auto read = (*reader)->Next(&row);
        EXPECT_TRUE(read.ok()) << read.status().ToString();
        if (!read.ok() || !*read) break;
        found.rows.push_back(row.bad.empty() ? fmt::format("{}|{}", row.numbers[0], row.fields[1])
                                             : std::string(row.bad));
      }
      EXPECT_EQ((*reader)->Progress(), 1);
    }
    found.of_ranks.push_back(found.rows.size() - before);
    (*reader)->Rewind();
    EXPECT_TRUE(merged.Merge(*FeatureStatistics::Gather(**reader, Spec().features)).ok());
  }
  found.hash = merged.content_hash();
  return found;
}

TEST(CompressedRows, AreThoseOfThePlainFilesWithTheirLineNumbers) {
  Random random(4);
  for (int round = 0; round < 60; ++round) {
    TextDisk plain;
    TextDisk packed;
    std::vector<std::string> paths;
    for (uint64_t file = 0; file < 1 + random.Below(6); ++file) {
      std::string text = "\xef\xbb\xbf\n x,city,y\r\n";
      for (uint64_t line = 0; line < random.Below(60); ++line) {
        text += random.Chance(0.1) ? "nonsense\n" : fmt::format("{},c{},1\n", line, file);
      }
      paths.push_back(fmt::format("f{}", file));
      plain.files[paths.back()] = text;
      const uint64_t kind = random.Below(3);
      packed.files[paths.back()] =
          kind == 0 ? text
                    : InParts(random, kind == 1 ? Compression::kGzip : Compression::kZstd, text);
    }
    const Found expected = ReadAllShares(plain, paths, 1);
    for (const uint32_t world : {1, 2, 5}) {
      const Found found = ReadAllShares(packed, paths, world);
      if (world == 1) {
        EXPECT_EQ(found.rows, expected.rows);
      } else {  // a cut file knows bytes, not lines
        EXPECT_EQ(found.rows.size(), expected.rows.size());
      }
      EXPECT_EQ(found.hash, expected.hash);
    }
  }
}

TEST(CompressedRows, ManyFilesGiveEachWorkerItsPart) {
  TextDisk disk;
  std::vector<std::string> paths;
  for (int file = 0; file < 24; ++file) {
    std::string text = "x,city,y\n";
    for (int line = 0; line < 100; ++line) text += fmt::format("{},c{},1\n", line, file);
    paths.push_back(fmt::format("f{}", file));
    disk.files[paths.back()] = Gzip(text);
  }
  EXPECT_THAT(ReadAllShares(disk, paths, 4).of_ranks, testing::Each(600));
  const std::vector<std::string> one = {"f0"};
  EXPECT_THAT(ReadAllShares(disk, one, 3).of_ranks, testing::ElementsAre(0, 100, 0));
}

TEST(CompressedRows, ErrorsNameFileAndLine) {
  const std::string rows = "x,city,y\n1,a,0\n";
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {Gzip(rows).substr(0, 30), {"d.gz: byte 30 of the file", "cut short"}},
      {Gzip(rows + std::string(1 << 21, 'x')), {"d.gz: line 2 of its text: a line above"}},
      {Gzip(""), {"d.gz: the file is empty"}},
      {Zstd("\xef\xbb\xbf"), {"d.gz: the file is empty"}},
      {Gzip("PAR1\x01\x02"), {"d.gz: expected rows as text, found a Parquet file"}},
      {Gzip(Gzip(rows)), {"d.gz: expected rows as text, found compressed with gzip"}},
      {Gzip(rows + "1,b\n"), {"d.gz:3: 2 columns, expected 3"}},
  };
  for (const auto& [bytes, texts] : cases) {
    TextDisk disk;
    disk.files["d.gz"] = bytes;
    DataSpec spec = Spec();
    spec.format.bad_share_max = 0;
    auto reader = CsvReader::Open(disk, "d.gz", spec, {.log_bad_lines = false});
    Status status = reader.status();
    DataRow row;
    for (bool more = reader.ok(); more;) {
      const auto read = (*reader)->Next(&row);
      status = read.status();
      more = read.ok() && *read;
    }
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << texts[0];
    for (const std::string& text : texts) EXPECT_THAT(status.message(), HasSubstr(text));
  }
}

TEST(CompressedRows, APartOfAFileIsRefused) {
  TextDisk disk;
  disk.files["d.gz"] = Gzip("x,city,y\n1,a,0\n");
  auto reader = CsvReader::Open(disk, "d.gz", Spec(), {}).value();
  EXPECT_TRUE(reader->TakeShare({0, 1}, true).ok());
  EXPECT_THAT(reader->TakeShare({0, 2}, false).message(),
              HasSubstr("d.gz: is compressed, and one worker must read all of it"));
}

}  // namespace
}  // namespace strata
