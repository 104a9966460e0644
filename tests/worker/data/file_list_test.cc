// Which files names and patterns stand for, and how the bytes of several files are shared out.
#include "worker/data/file/file_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/text_disk.h"
#include "worker/data/file/file_parts.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TextDisk SomeDisk() {
  TextDisk disk;
  for (const char* path :
       {"day_1.tsv", "day_10.tsv", "day_2.tsv", ".day_3.tsv", "day_2.bak", "/d/a/part-1",
        "/d/b/part-0", "/d/b/other", "/d/part-9", "what[1].csv"}) {
    disk.files[path] = "x";
  }
  return disk;
}

std::vector<std::string> Find(const std::vector<std::string>& names) {
  TextDisk disk = SomeDisk();
  const auto found = FindDataFiles(disk, names);
  EXPECT_TRUE(found.ok()) << found.status().ToString();
  return found.ok() ? *found : std::vector<std::string>();
}

TEST(FindDataFiles, PathsStayAndPatternsBecomeTheFilesThatMatchInTheirOrder) {
  EXPECT_THAT(Find({}), ElementsAre());
  EXPECT_THAT(Find({"b", "a", "not/there"}), ElementsAre("b", "a", "not/there"));
  EXPECT_THAT(Find({"day_*.tsv"}), ElementsAre("day_1.tsv", "day_10.tsv", "day_2.tsv"));
  EXPECT_THAT(Find({"day_?.tsv"}), ElementsAre("day_1.tsv", "day_2.tsv"));
  EXPECT_THAT(Find({"x", "day_[2-9].tsv", "y"}), ElementsAre("x", "day_2.tsv", "y"));
  EXPECT_THAT(Find({"/d/*/part-*"}), ElementsAre("/d/a/part-1", "/d/b/part-0"));
  EXPECT_THAT(Find({"/d/[b]/part-0"}), ElementsAre("/d/b/part-0"));
  // A file that is there is no pattern.
  EXPECT_THAT(Find({"what[1].csv"}), ElementsAre("what[1].csv"));
}

TEST(FindDataFiles, MistakesSayWhatAndWhatToDo) {
  const struct {
    std::vector<std::string> names;
    std::vector<std::string> texts;
  } cases[] = {
      {{"day_9*"}, {"no file matches the pattern day_9*", "expected at least one"}},
      {{"a", ""}, {"an empty name", "expected the path of a file"}},
      {{"a", "b", "a"}, {"a is named twice: expected each file once"}},
      {{"a/b", "a/./c/../b"}, {"a/./c/../b is named twice, also as a/b"}},
      {{"day_2.tsv", "day_*.tsv"}, {"day_2.tsv is named twice"}},
      {{"/no/folder/*"}, {"the pattern /no/folder/*", "no such folder"}},
  };
  for (const auto& c : cases) {
    TextDisk disk = SomeDisk();
    const Status status = FindDataFiles(disk, c.names).status();
    EXPECT_FALSE(status.ok()) << c.texts[0];
    for (const std::string& text : c.texts) EXPECT_THAT(status.message(), HasSubstr(text));
  }
}

TEST(FindDataFiles, AFileWithTwoNamesOnARealDiskIsOne) {
  TempFolder folder;
  WriteWholeFile(folder.File("a.csv"), "1\n");
  WriteWholeFile(folder.File("b.csv"), "1\n");
  std::filesystem::create_symlink(folder.File("a.csv"), folder.File("c.csv"));
  const std::vector<std::string> both = {folder.File("[ab].csv")};
  EXPECT_THAT(FindDataFiles(RealDisk(), both).value(),
              ElementsAre(folder.File("a.csv"), folder.File("b.csv")));
  const std::vector<std::string> all = {folder.File("*.csv")};
  EXPECT_THAT(FindDataFiles(RealDisk(), all).status().message(),
              HasSubstr("c.csv is named twice, also as " + folder.File("a.csv")));
  const std::vector<std::string> missing = {folder.File("none/*.csv")};
  EXPECT_EQ(FindDataFiles(RealDisk(), missing).status().code(), StatusCode::kNotFound);
}

TEST(FilesText, NamesTheFirst) {
  const std::vector<std::string> files = {"a", "b", "c"};
  EXPECT_EQ(FilesText(std::span(files).first(1)), "a");
  EXPECT_EQ(FilesText(std::span(files).first(2)), "a and 1 more file");
  EXPECT_EQ(FilesText(files), "a and 2 more files");
}

// Each byte is in one part, and lower ranks come first.
TEST(PartsOf, EveryByteOnceInTheOrderOfTheRanks) {
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    std::vector<FileExtent> files(1 + random.Below(6));
    uint64_t total = 0;
    uint64_t largest = 0;
    for (FileExtent& file : files) {
      file = {.bytes = 1 + random.Below(50), .whole = random.Chance(0.3)};
      total += file.bytes;
      if (file.whole) largest = std::max(largest, file.bytes);
    }
    const auto world = static_cast<uint32_t>(1 + random.Below(9));
    size_t file = 0;
    uint64_t next = 0;  // byte of the file that nobody has yet
    for (uint32_t rank = 0; rank < world; ++rank) {
      uint64_t mine = 0;
      for (const FilePart& part : PartsOf(files, {rank, world})) {
        ASSERT_EQ(part.file, file);
        ASSERT_EQ(part.range.begin, next);
        ASSERT_LT(part.range.begin, part.range.end);
        if (files[file].whole) {
          ASSERT_EQ(part.bytes(), files[file].bytes);
        }
        mine += part.bytes();
        next = part.range.end;
        if (next == files[file].bytes) {
          ++file;
          next = 0;
        }
      }
      // Without such files shares differ by a byte; with them by at most one file.
      ASSERT_LE(mine, total / world + 1 + largest);
    }
    EXPECT_EQ(file, files.size());
  }
}

TEST(PartsOf, AShareMayGoOnToTheEnd) {
  const std::vector<FileExtent> files = {{.bytes = 10}, {.bytes = 10}};
  const std::vector<FilePart> parts = PartsOf(files, {1, 4}, true);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].range.begin, 5U);
  EXPECT_EQ(parts[1].range.end, 10U);
}

}  // namespace
}  // namespace strata
