// Rows of several files: those of one after another, whoever reads which part.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/worker/text_disk.h"
#include "worker/data/feature/feature_statistics.h"
#include "worker/data/sparse/sparse_fields.h"
#include "worker/data/sparse/sparse_reader.h"
#include "worker/data/text/csv_reader.h"

namespace strata {
namespace {

using testing::HasSubstr;

DataSpec CsvSpec(bool header) {
  DataSpec spec;
  spec.format.header = header;
  if (!header) spec.format.columns = {"x", "city", "y"};
  spec.features = {{.column = "x", .kind = FeatureKind::kNumeric},
                   {.column = "city", .kind = FeatureKind::kCategorical}};
  spec.label = "y";
  return spec;
}

// Texts of files and the rows in them, "x|city".
struct Files {
  TextDisk disk;
  std::vector<std::string> paths;
  std::vector<std::string> rows;
};

Files RandomFiles(Random& random, bool header) {
  Files files;
  const size_t count = 1 + random.Below(5);
  for (size_t i = 0; i < count; ++i) {
    std::string text = header ? "x,city,y\n" : "";
    const size_t lines = (header ? 0 : 1) + random.Below(8);
    for (size_t line = 0; line < lines; ++line) {
      const size_t x = files.rows.size();
      const std::string city(random.Below(12), 'c');
      text += fmt::format("{},{},{}", x, city, x % 2);
      const bool last = line + 1 == lines;
      if (!last || random.Chance(0.5)) text += random.Chance(0.2) ? "\r\n" : "\n";
      files.rows.push_back(fmt::format("{}|{}", x, city));
    }
    files.paths.push_back(fmt::format("f{}.csv", i));
    files.disk.files[files.paths.back()] = text;
  }
  return files;
}

TEST(SeveralFiles, EveryRowOnceInOrderWhereverTheSharesAreCut) {
  Random random(8);
  for (int round = 0; round < 300; ++round) {
    const bool header = random.Chance(0.5);
    Files files = RandomFiles(random, header);
    const auto world = static_cast<uint32_t>(1 + random.Below(7));
    std::vector<std::string> rows;
    FeatureStatistics merged(2);
    for (uint32_t rank = 0; rank < world; ++rank) {
      const TextOptions options = {.share = {rank, world}, .block_bytes = 1 + random.Below(20)};
      auto reader = CsvReader::Open(files.disk, files.paths, CsvSpec(header), options);
      ASSERT_TRUE(reader.ok()) << reader.status().ToString();
      DataRow row;
      for (int pass = 0; pass < 2; ++pass) {  // what a pass leaves behind does not matter
        std::vector<std::string> mine;
        while ((*reader)->Next(&row).value()) {
          mine.push_back(fmt::format("{}|{}", row.numbers[0], row.fields[1]));
          EXPECT_GE((*reader)->Progress(), 0);
          EXPECT_LE((*reader)->Progress(), 1);
        }
        EXPECT_EQ((*reader)->Progress(), 1);
        (*reader)->Rewind();
        if (pass == 1) rows.insert(rows.end(), mine.begin(), mine.end());
      }
      auto part = FeatureStatistics::Gather(**reader, CsvSpec(header).features);
      ASSERT_TRUE(part.ok() && merged.Merge(*part).ok());
    }
    EXPECT_EQ(rows, files.rows) << world << " workers";
    // What is known of the data does not depend on who has read which part.
    auto whole = CsvReader::Open(files.disk, files.paths, CsvSpec(header), {}).value();
    const auto all = FeatureStatistics::Gather(*whole, CsvSpec(header).features);
    EXPECT_EQ(all->content_hash(), merged.content_hash());
    EXPECT_EQ(all->rows(), files.rows.size());
  }
}

TEST(SeveralFiles, TheHashOfTheDataKnowsWhichFileARowIsIn) {
  TextDisk disk;
  disk.files = {
      {"a", "1,x,0\n2,y,1\n"}, {"b", "2,y,1\n"}, {"c", "1,x,0\n"}, {"d", "1,x,0\n2,y,1\n"}};
  const auto hash = [&](const std::vector<std::string>& paths) {
    auto reader = CsvReader::Open(disk, paths, CsvSpec(false), {}).value();
    return FeatureStatistics::Gather(*reader, CsvSpec(false).features)->content_hash();
  };
  EXPECT_EQ(hash({"a"}), hash({"d"}));
  EXPECT_NE(hash({"a"}), hash({"c", "b"}));
  EXPECT_NE(hash({"c", "b"}), hash({"b", "c"}));
}

TEST(SeveralFiles, ABadLineIsNamedByItsOwnFileAndLine) {
  TextDisk disk;
  disk.files = {{"a.csv", "x,city,y\n1,a,0\n"}, {"b.csv", "\nx,city,y\n1,a,0\n1,a\n2,b,1\n"}};
  DataSpec spec = CsvSpec(true);
  auto reader = CsvReader::Open(disk, std::vector<std::string>{"a.csv", "b.csv"}, spec,
                                {.log_bad_lines = false})
                    .value();
  DataRow row;
  Result<bool> read = true;
  while (read.ok() && *read) read = reader->Next(&row);
  EXPECT_THAT(read.status().message(), HasSubstr("a.csv and 1 more file: 1 of the first 4 lines"));
  EXPECT_THAT(read.status().message(), HasSubstr("\n  b.csv:4: 2 columns, expected 3"));
}

TEST(SeveralFiles, SparseRowsHaveTheirOwnFilesToo) {
  TextDisk disk;
  disk.files = {{"a.ffm", "1 0:a:1\n0 1:b:1"}, {"b.ffm", "0 2:c:1\n1 0:a:x\n"}};
  DataSpec spec;
  spec.sparse = SparseFormat::kLibffm;
  spec.format.bad_share_max = 0.5;
  const std::vector<std::string> paths = {"a.ffm", "b.ffm"};
  auto reader =
      SparseReader::Open(disk, paths, spec, {.keep_bad_rows = true, .log_bad_lines = false})
          .value();
  std::vector<std::string> places;
  SparseRow row;
  while (reader->Next(&row).value()) places.push_back(reader->PlaceOfRow());
  EXPECT_THAT(places, testing::ElementsAre("a.ffm:1", "a.ffm:2", "b.ffm:1", "b.ffm:2"));
  reader->Rewind();
  EXPECT_THAT(SparseStatistics::Gather(*reader)->fields.all(), testing::ElementsAre(0, 1, 2));
}

TEST(SeveralFiles, FilesThatDoNotFitTogetherAreNamed) {
  const std::string criteo(39, '\t');  // 40 empty fields
  const struct {
    std::map<std::string, std::string> files;
    bool header;
    std::vector<std::string> texts;
  } cases[] = {
      {{{"a", "x,city,y\n1,a,0\n"}, {"b", "x,y,city\n1,0,a\n"}},
       true,
       {"b:1: column 2 of the header is 'y', expected 'city', as a:1 has it"}},
      {{{"a", "x,city,y\n1,a,0\n"}, {"b", "\nx,city,y,z\n1,0,a,1\n"}},
       true,
       {"b:2: column 4 of the header is 'z', expected nothing more, as a:1 has it"}},
      {{{"a", "x,city,y\n1,a,0\n"}, {"b", "x,city\n1,0\n"}},
       true,
       {"b:1: column 3 of the header is nothing more, expected 'y'", "must have the same header"}},
      {{{"a", "x,city,y\n1,a,0\n"}, {"b", "1,b,0\n"}},
       true,
       {"b:1: expected the names of columns, found '1,b,0'"}},
      {{{"a", "1,a,0\n"}, {"b", ""}}, false, {"b: the file is empty"}},
      {{{"a", "1,a,0\n"}, {"b", "PK\x03\x04"}}, false, {"b: expected rows as text", "zip"}},
      {{{"a", "1,a,0\n"}, {"b", "1;a;0\n2;b;1\n"}},
       false,
       {"a and 1 more file: 2 of the first 3 lines", "b: The first line's fields seem to be",
        "b:1: 1 column, expected 3"}},
  };
  for (const auto& c : cases) {
    TextDisk disk;
    disk.files = c.files;
    auto reader = CsvReader::Open(disk, std::vector<std::string>{"a", "b"}, CsvSpec(c.header),
                                  {.log_bad_lines = false});
    Status status = reader.status();
    DataRow row;
    for (bool more = reader.ok(); more;) {
      const Result<bool> read = (*reader)->Next(&row);
      status = read.status();
      more = read.ok() && *read;
    }
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << c.texts[0];
    for (const std::string& text : c.texts) EXPECT_THAT(status.message(), HasSubstr(text));
  }
}

TEST(SeveralFiles, AMissingFileAndOneThatChangesAreErrors) {
  TextDisk disk;
  disk.files = {{"a", "1,a,0\n"}, {"b", "2,b,1\n"}};
  const DataSpec spec = CsvSpec(false);
  const std::vector<std::string> missing = {"a", "c"};
  const Status none = CsvReader::Open(disk, missing, spec, {}).status();
  EXPECT_EQ(none.code(), StatusCode::kNotFound);
  EXPECT_THAT(none.message(), HasSubstr("c: no such file"));
  auto reader = CsvReader::Open(disk, std::vector<std::string>{"a", "b"}, spec, {}).value();
  disk.files["b"] = "2,b,1\n3,c,0\n";
  DataRow row;
  ASSERT_TRUE(reader->Next(&row).value());
  EXPECT_THAT(reader->Next(&row).status().message(),
              HasSubstr("b: has 12 bytes, but had 6 before: do not change a file"));
}

std::vector<std::string> RowsOfEpoch(CsvReader& reader, uint64_t epoch) {
  reader.BeginEpoch(epoch);
  std::vector<std::string> rows;
  DataRow row;
  while (reader.Next(&row).value()) rows.push_back(fmt::format("{}", row.numbers[0]));
  return rows;
}

TEST(SeveralFiles, TheOrderOfTheFilesIsAFunctionOfSeedAndEpoch) {
  TextDisk disk;
  std::vector<std::string> paths;
  std::vector<std::string> in_order;
  for (int file = 0; file < 6; ++file) {
    paths.push_back(fmt::format("f{}", file));
    for (int i = 0; i < 3; ++i) {
      in_order.push_back(fmt::format("{}", 3 * file + i));
      disk.files[paths.back()] += fmt::format("{},a,1\n", 3 * file + i);
    }
  }
  const auto open = [&](const std::vector<std::string>& files, std::optional<uint64_t> seed) {
    return CsvReader::Open(disk, files, CsvSpec(false), {.order_seed = seed}).value();
  };
  const auto one = open(paths, 1);
  const auto same = open(paths, 1);
  const auto other = open(paths, 2);
  EXPECT_EQ(RowsOfEpoch(*open(paths, std::nullopt), 1), in_order);
  std::set<std::vector<std::string>> orders;
  for (uint64_t epoch = 0; epoch < 8; ++epoch) {
    const std::vector<std::string> rows = RowsOfEpoch(*one, epoch);
    orders.insert(rows);
    // A job that goes on in this epoch has not seen those before.
    EXPECT_EQ(RowsOfEpoch(*open(paths, 1), epoch), rows);
    for (size_t i = 0; i < rows.size(); i += 3) {  // a file stays together
      EXPECT_EQ(std::stoi(rows[i]) % 3, 0);
      EXPECT_EQ(std::stoi(rows[i + 2]), std::stoi(rows[i]) + 2);
    }
    std::vector<std::string> sorted = rows;
    std::ranges::sort(sorted);
    std::vector<std::string> all = in_order;
    std::ranges::sort(all);
    EXPECT_EQ(sorted, all);
  }
  EXPECT_GE(orders.size(), 6U);
  EXPECT_EQ(RowsOfEpoch(*same, 3), RowsOfEpoch(*one, 3));
  EXPECT_NE(RowsOfEpoch(*other, 3), RowsOfEpoch(*one, 3));
  const std::vector<std::string> first = {"f0"};
  EXPECT_THAT(RowsOfEpoch(*open(first, 7), 5), testing::ElementsAre("0", "1", "2"));
}

}  // namespace
}  // namespace strata
