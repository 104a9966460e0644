// The table of docs/search.md, "Bad input": each command there ends with the message and the exit
// code that stand beside it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "tests/process/admin/admin_fixture.h"
#include "tests/worker/gbdt/npy_text.h"

namespace strata {
namespace {

struct Mistake {
  std::string command;
  int code = 0;
  std::string message;
};

std::vector<std::string> Split(const std::string& text, const std::string& by) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(by, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + by.size();
  }
  return parts;
}

// "| what | `command` | code | `message` |"
std::vector<Mistake> MistakesOfDocs() {
  std::istringstream page(ReadWholeFile(STRATA_SOURCE_DIR "/docs/search.md"));
  std::vector<Mistake> mistakes;
  bool is_there = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("#")) is_there = line == "### Bad input";
    if (!is_there || !line.ends_with("` |")) continue;
    const std::vector<std::string> cells = Split(line.substr(0, line.size() - 2), " | ");
    if (cells.size() != 4) {
      ADD_FAILURE() << line;
      continue;
    }
    const auto text = [](const std::string& cell) { return cell.substr(1, cell.size() - 2); };
    mistakes.push_back({text(cells[1]), std::stoi(cells[2]), text(cells[3])});
  }
  return mistakes;
}

class CollectionMistakes : public AdminFixture {
 protected:
  CollectionMistakes() : AdminFixture(AdminData::kNone) {}

  // "": an empty word. The address of the docs' server is that of the first one here.
  ProcessResult Run(const std::string& command) {
    std::vector<std::string> words = Split("collection " + command, " ");
    const std::string machines = ReadWholeFile(folder_.File("machines.txt"));
    for (std::string& word : words) {
      if (word == "\"\"") word.clear();
      if (word == "--server=127.0.0.1:7600") {
        word = "--server=" + machines.substr(0, machines.find(' '));
      }
    }
    if (command.find("--server") == std::string::npos)
      words.insert(words.begin(), "--config=" + config());
    return RunProcess(ProgramPath("strata-admin"),
                      {.arguments = std::move(words), .folder = folder_.path()});
  }
  void Write(const std::string& name, const std::string& text) {
    WriteWholeFile(folder_.File(name), text);
  }
  template <typename T>
  void WriteArray(const std::string& name, const std::string& header,
                  const std::vector<T>& values) {
    Write(name, NpyText(header, values));
  }

  void WriteFiles() {
    Write("docs.txt", "1,2,3\n2,3,4\n5\n");
    Write("word.txt", "1,2\n3,x,4\n");
    Write("large.txt", "1\n4294967296\n");
    Write("blanks.txt", "1, 2 ,3\n1,2 3\n");
    Write("mac.txt", "1,2\r3,4\r");
    Write("docs.txt.gz", "\x1f\x8b\x08");
    Write("utf16.txt", std::string("\xff\xfe\x31\x00,\x00\x32\x00", 8));
    Write("arrays.npz", "PK\x03\x04 and more");
    Write("none.txt", "");
    Write("two-ids.txt", "7\n8\n");
    Write("same-ids.txt", "7\n8\n7\n");
    Write("bad-ids.txt", "7\n8\n-9\n");
    const std::vector<int32_t> six = {1, 2, 3, 4, 5, 6};
    WriteArray("reals.npy", NpyHeader("<f4", "(2, 3)"), std::vector<float>(6));
    WriteArray("columns.npy", NpyHeader("<i4", "(2, 3)", "True"), six);
    WriteArray("flat.npy", NpyHeader("<i4", "(6,)"), six);
    WriteArray("short.npy", NpyHeader("<i4", "(3, 3)"), six);
    WriteArray("empty-rows.npy", NpyHeader("<i4", "(1000000000000, 0)"), std::vector<int32_t>{});
    Write("cut.npy", NpyText(NpyHeader("<i4", "(2, 3)"), six).substr(0, 30));
    WriteArray("wide.npy", NpyHeader("<i8", "(1, 2)"), std::vector<int64_t>{1, int64_t{1} << 32});
    WriteArray("huge.npy", NpyHeader("<u8", "(1, 2)"),
               std::vector<uint64_t>{1, (uint64_t{1} << 63) + 5});
    WriteArray("far.npy", NpyHeader("<u8", "(2,)"),
               std::vector<uint64_t>{0, (uint64_t{1} << 63) + 5});
    WriteArray("tokens.npy", NpyHeader("<i4", "(3,)"), std::vector<int32_t>{1, 2, 3});
    WriteArray("negative.npy", NpyHeader("<i4", "(3,)"), std::vector<int32_t>{1, -2, 3});
    WriteArray("offsets.npy", NpyHeader("<i8", "(3,)"), std::vector<int64_t>{0, 1, 3});
    WriteArray("early.npy", NpyHeader("<i8", "(2,)"), std::vector<int64_t>{0, 2});
    WriteArray("falling.npy", NpyHeader("<i8", "(4,)"), std::vector<int64_t>{0, 2, 1, 3});
    WriteArray("prices.npy", NpyHeader("<i8", "(3, 1)"), std::vector<int64_t>{5, 6, 7});
    WriteArray("two-prices.npy", NpyHeader("<i8", "(2, 1)"), std::vector<int64_t>{5, 6});
    for (const char* folder : {"nothing", "unfinished", "other"}) {
      ASSERT_TRUE(RealDisk().MakeFolder(folder_.File(folder)).ok());
    }
    Write("unfinished/unfinished", "");
    Write("other/collection.json", "{}\n");
  }

  void MakeCollections() {
    EXPECT_EQ(Run("create baskets").end.code, 0);
    EXPECT_EQ(Run("load baskets docs.txt").end.code, 0);
    EXPECT_EQ(Run("create priced --attribute price").end.code, 0);
    for (const char* folder : {"backup", "damaged", "short"}) {
      EXPECT_EQ(Run(fmt::format("export baskets {}", folder)).end.code, 0);
    }
    std::string tokens = ReadWholeFile(folder_.File("damaged/tokens.npy"));
    ASSERT_FALSE(tokens.empty());
    tokens.back() = static_cast<char>(tokens.back() ^ 1);
    Write("damaged/tokens.npy", tokens);
    std::filesystem::resize_file(folder_.File("short/ids.npy"), 140);
  }
};

TEST_F(CollectionMistakes, EndAsTheDocsSay) {
  WriteFiles();
  MakeCollections();
  const std::vector<Mistake> mistakes = MistakesOfDocs();
  EXPECT_GE(mistakes.size(), 70U);
  for (const Mistake& mistake : mistakes) {
    const ProcessResult result = Run(mistake.command);
    // The test's own servers have ports, and a cluster, of their own.
    std::string errors =
        std::regex_replace(result.errors, std::regex(R"(127\.0\.0\.1:\d\d+)"), "127.0.0.1:7600");
    errors = std::regex_replace(errors, std::regex("cluster 'admin-test'"), "cluster 'shop'");
    EXPECT_EQ(errors, fmt::format("strata-admin: {}\n", mistake.message)) << mistake.command;
    EXPECT_EQ(result.end.code, mistake.code) << mistake.command;
  }
}

// Each lane was asked: what one of two servers took is another matter.
TEST_F(CollectionMistakes, ChangesThatAllRefuseAreSaidToHaveChangedNothing) {
  std::string documents;
  for (int id = 0; id < 200; ++id) documents += fmt::format("{}\n", id);
  Write("docs.txt", documents);
  EXPECT_EQ(Run("create baskets").end.code, 0);
  EXPECT_EQ(Run("load baskets docs.txt --first-id 1000").end.code, 0);
  const std::string none_stored =
      "strata-admin: REFUSED: none of the documents of docs.txt was stored\n";
  const std::string none_deleted = "strata-admin: REFUSED: no document was deleted\n";
  const auto expect = [&](const std::string& command, const std::string& why,
                          const std::string& end) {
    const ProcessResult result = Run(command);
    EXPECT_EQ(result.end.code, 4) << command;
    EXPECT_NE(result.errors.find(why), std::string::npos) << result.errors;
    EXPECT_TRUE(result.errors.ends_with("\n" + end)) << result.errors;
  };
  expect("load baskets docs.txt --ack logged", "needs a server with a data folder", none_stored);
  expect("delete baskets 1000 1001 --ack logged", "needs a server with a data folder",
         none_deleted);
  EXPECT_EQ(Admin({"drain", "--rank=1"}).end.code, 0);
  expect(
      "load baskets docs.txt", "server 1 is draining",
      "strata-admin: REFUSED: the first 0 documents are acknowledged, of the 200 behind them it "
      "is not known whether they are stored: to go on, give the same command again, it puts each "
      "in its place\n");
  EXPECT_EQ(Admin({"drain"}).end.code, 0);
  expect("load baskets docs.txt --first-id 5000", "is draining", none_stored);
  EXPECT_EQ(Run("get baskets 5000").end.code, 2);
}

}  // namespace
}  // namespace strata
