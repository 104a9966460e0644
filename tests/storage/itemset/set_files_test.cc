// Documents and queries in files: each form is read, and bad ones say where, what was expected and
// what was found.
#include "storage/itemset/set_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "strata/document.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/gbdt/npy_text.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

class SetFiles : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) const {
    WriteWholeFile(folder_.File(name), text);
    return folder_.File(name);
  }
  static Result<std::vector<TokenSet>> Read(const std::string& path,
                                            const std::string& offsets = "", size_t most = 2) {
    STRATA_ASSIGN(const auto reader, OpenSets(RealDisk(), path, offsets));
    std::vector<TokenSet> sets;
    for (size_t before = SIZE_MAX; before != sets.size();) {
      before = sets.size();
      STRATA_TRY(reader->Next(most, &sets));
      EXPECT_LE(sets.size(), before == SIZE_MAX ? most : before + most);
    }
    EXPECT_EQ(reader->done(), reader->total());
    EXPECT_EQ(*reader->Count(), sets.size());
    EXPECT_LE(sets.size(), reader->total());
    return sets;
  }
  static std::string Refusal(const std::string& path, const std::string& offsets = "") {
    const auto sets = Read(path, offsets);
    EXPECT_EQ(sets.status().code(), StatusCode::kInvalid) << sets.status().ToString();
    EXPECT_THAT(sets.status().message(), HasSubstr(path.substr(0, path.rfind('/'))));
    return sets.status().message();
  }

  TempFolder folder_;
};

TEST_F(SetFiles, TextHasASetALine) {
  const std::vector<TokenSet> expected = {{3, 1, 2}, {}, {0, 4294967295}, {7}};
  EXPECT_EQ(*Read(Write("a.txt", "3,1,2\n\n0,4294967295\n7\n")), expected);
  EXPECT_EQ(*Read(Write("b.txt", "3, 1,\t2\r\n  \r\n0 ,4294967295\r\n7")), expected);
  EXPECT_TRUE(Read(Write("c.txt", ""))->empty());
}

TEST_F(SetFiles, AMarkOfUtf8BeforeTheTextIsPassedOver) {
  const std::string mark = "\xef\xbb\xbf";
  EXPECT_EQ(*Read(Write("a.txt", mark + "3,1\n2\n")), (std::vector<TokenSet>{{3, 1}, {2}}));
  EXPECT_THAT(Refusal(Write("b.txt", "1\n" + mark + "2\n")), HasSubstr("line 2: column 1"));
  ASSERT_TRUE(RealDisk().MakeFolder(folder_.File("q")).ok());
  Write("q/one", mark + "5\n");
  EXPECT_EQ(*Read(folder_.File("q")), (std::vector<TokenSet>{{5}}));
}

TEST_F(SetFiles, SetsOfTooManyTokensAreNamedByTheirPlace) {
  std::string text = "1\n2";
  for (size_t i = 0; i < ItemSetSpec::kMostTokens; ++i) text += ",3";
  const char* const what = ": expected at most 1048576 tokens, found 1048577";
  EXPECT_THAT(Refusal(Write("a.txt", text + "\n")),
              ::testing::EndsWith(std::string("a.txt, line 2") + what));
  ASSERT_TRUE(RealDisk().MakeFolder(folder_.File("q")).ok());
  Write("q/one", text.substr(2));
  EXPECT_THAT(Refusal(folder_.File("q")), ::testing::EndsWith(std::string("q/one") + what));
  const std::vector<uint8_t> many(ItemSetSpec::kMostTokens + 1);
  EXPECT_THAT(Refusal(Write("r.npy", NpyText(NpyHeader("|u1", "(1, 1048577)"), many))),
              ::testing::EndsWith(std::string("r.npy, row 0") + what));
  EXPECT_THAT(Refusal(Write("t.npy", NpyText(NpyHeader("|u1", "(1048577,)"), many)),
                      Write("o.npy", NpyText(NpyHeader("<i8", "(3,)"),
                                             std::vector<int64_t>{0, 0, 1'048'577}))),
              ::testing::EndsWith(std::string("t.npy, row 1") + what));
}

TEST_F(SetFiles, LinesLongerThanAPieceAreRead) {
  std::string text;
  std::vector<TokenSet> expected;
  for (uint32_t line = 0; line < 3; ++line) {
    TokenSet& set = expected.emplace_back();
    for (uint32_t i = 0; i < 200'000; ++i) {
      set.push_back(i * 7 + line);
      text += fmt::format("{}{}", i == 0 ? "" : ",", set.back());
    }
    text += '\n';
  }
  ASSERT_GT(text.size(), size_t{3} << 20);
  EXPECT_EQ(*Read(Write("long.txt", text)), expected);
}

TEST_F(SetFiles, AFolderHasASetAFileInTheOrderOfNames) {
  ASSERT_TRUE(RealDisk().MakeFolder(folder_.File("queries")).ok());
  Write("queries/query10", "10\n");
  Write("queries/query2", "2,3");
  Write("queries/query1", "");
  EXPECT_EQ(*Read(folder_.File("queries")), (std::vector<TokenSet>{{}, {10}, {2, 3}}));
  Write("queries/.DS_Store", "no set");
  EXPECT_EQ(*Read(folder_.File("queries")), (std::vector<TokenSet>{{}, {10}, {2, 3}}));
  const auto reader = OpenSets(RealDisk(), folder_.File("queries"), "");
  EXPECT_THAT((*reader)->files(), ::testing::ElementsAre("query1", "query10", "query2"));
}

TEST_F(SetFiles, ArraysOfEachWidthAreRead) {
  const std::vector<TokenSet> expected = {{5, 0}, {1, 2, 3}};
  const auto rows = [&](const char* kind, const auto& values) {
    return *Read(Write("x.npy", NpyText(NpyHeader(kind, "(2, 3)"), values)));
  };
  EXPECT_EQ(rows("<i4", std::vector<int32_t>{5, 0, -1, 1, 2, 3}), expected);
  EXPECT_EQ(rows("<i8", std::vector<int64_t>{5, 0, -9, 1, 2, 3}), expected);
  EXPECT_EQ(rows("<i2", std::vector<int16_t>{5, 0, -1, 1, 2, 3}), expected);
  EXPECT_EQ(rows("|i1", std::vector<int8_t>{5, 0, -1, 1, 2, 3}), expected);
  EXPECT_EQ(rows("<u4", std::vector<uint32_t>{1, 2, 4294967295, 3, 4, 5}),
            (std::vector<TokenSet>{{1, 2, 4294967295}, {3, 4, 5}}));
  const std::string tokens =
      Write("tokens.npy", NpyText(NpyHeader("<u2", "(5,)"), std::vector<uint16_t>{5, 0, 1, 2, 3}));
  const std::string offsets =
      Write("offsets.npy", NpyText(NpyHeader("<u8", "(4,)"), std::vector<uint64_t>{0, 2, 2, 5}));
  EXPECT_EQ(*Read(tokens, offsets), (std::vector<TokenSet>{{5, 0}, {}, {1, 2, 3}}));
  EXPECT_EQ(*ReadNumberRows(RealDisk(), Write("y.npy", NpyText(NpyHeader("<i8", "(2, 1)"),
                                                               std::vector<int64_t>{-7, 9}))),
            (std::vector<std::vector<int64_t>>{{-7}, {9}}));
}

TEST_F(SetFiles, BadTextSaysLineAndColumn) {
  const std::pair<const char*, const char*> cases[] = {
      {"1,2\n3,x,4\n",
       "line 2: column 3: expected a token, a whole number from 0 to 4294967295, "
       "found 'x'"},
      {"1,,2",
       "line 1: column 3: expected a token, a whole number from 0 to 4294967295, found "
       "nothing"},
      {"1,2,", "column 5"},
      {",1", "column 1"},
      {"-1", "found '-1'"},
      {"+1", "found '+1'"},
      {"1.5", "found '1.5'"},
      {"0x10", "found '0x10'"},
      {"4294967296", "found '4294967296'"},
      {"99999999999999999999999", "found '99999999999999999999"},
      {"7,1 2",
       "column 3: expected a token, a whole number from 0 to 4294967295, found '1 2': put "
       "commas between tokens"},
      {"1;2", "found '1;2': put commas between tokens"},
      {"1\t2", "put commas between tokens"},
      {"1\r2\r3", "found '1\\x0d2\\x0d3': end lines with \\n, or \\r\\n"},
      {"\x1f\x8b\x08", "found '\\x1f\\x8b\\x08': the file is packed (gzip): unpack it"},
      {"\xff\xfe,1", "found '\\xff\\xfe': the file is UTF-16: write it as UTF-8"},
      {"\xfe\xff,1", "the file is UTF-16: write it as UTF-8"},
      {"1,  x", "column 5: expected a token, a whole number from 0 to 4294967295, found 'x'"},
      {"\x01\xff", "found '\\x01\\xff'"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(Refusal(Write("bad.txt", text)), HasSubstr(message)) << text;
  }
  EXPECT_THAT(Refusal(Write("wide.txt", std::string(20 << 20, '1'))),
              HasSubstr("line 1: expected a line of at most 16777216 bytes; is it text?"));
}

TEST_F(SetFiles, BadFoldersAndFilesThatAreNotThere) {
  const auto missing = Read(folder_.File("missing.txt"));
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound) << missing.status().ToString();
  ASSERT_TRUE(RealDisk().MakeFolder(folder_.File("none")).ok());
  EXPECT_THAT(Refusal(folder_.File("none")),
              ::testing::EndsWith("a file for each set, found none"));
  Write("none/.hidden", "1\n");
  EXPECT_THAT(Refusal(folder_.File("none")), HasSubstr("found none but hidden ones"));
  ASSERT_TRUE(RealDisk().MakeFolder(folder_.File("two")).ok());
  Write("two/q", "1\n2\n");
  EXPECT_THAT(Refusal(folder_.File("two")),
              HasSubstr("two/q: expected one line, the set; found 2"));
  Write("two/q", "1,a");
  EXPECT_THAT(Refusal(folder_.File("two")), HasSubstr("two/q: column 3"));
}

TEST_F(SetFiles, BadArraysSayWhatIsWrong) {
  const std::vector<int32_t> six = {1, 2, 3, 4, 5, 6};
  const std::pair<std::string, const char*> cases[] = {
      {"1,2,3", "no NumPy array"},
      {NpyText(NpyHeader("<f4", "(2, 3)"), std::vector<float>(6)),
       "expected whole numbers ('<i4', '<u4', '<i8', ...), found '<f4'"},
      {NpyText(NpyHeader(">i4", "(2, 3)"), six), "found '>i4'"},
      {NpyText(NpyHeader("<i4", "(2, 3)", "True"), six), "row-major"},
      {NpyText(NpyHeader("<i4", "(6,)"), six),
       "expected 2 dimensions, found 1 dimension: rows are sets; where sets stand one behind "
       "another, give --offsets, too"},
      {NpyText(NpyHeader("<i4", "(3, 3)"), six),
       "expected 9 elements of 4 bytes behind its header, found 24 bytes"},
      {NpyText(NpyHeader("<i4", "(9223372036854775807, 3)"), six), "more than 2^64 elements"},
      {NpyText(NpyHeader("<i4", "(1000000000000, 0)"), std::vector<int32_t>{}),
       "expected rows of one number or more, found shape (1000000000000, 0)"},
      {NpyText(NpyHeader("<i4", "2"), six), "no shape in its header"},
      {NpyText(NpyHeader("<i4", "(2, 3)"), six).substr(0, 30), "cut in its header"},
      {NpyText(NpyHeader("<i8", "(1, 2)"), std::vector<int64_t>{1, int64_t{1} << 32}),
       "row 0: expected a token, a whole number from 0 to 4294967295, found 4294967296"},
      {NpyText(NpyHeader("<u8", "(1, 1)"), std::vector<uint64_t>{UINT64_MAX}),
       "element 0: expected a token, a whole number from 0 to 4294967295, found "
       "18446744073709551615"},
      {std::string("PK\x03\x04 and so on"),
       "expected an array (.npy), found an archive (.npz): save one of its arrays: "
       "numpy.save('one.npy', numpy.load('"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(Refusal(Write("bad.npy", text)), HasSubstr(message));
  }
}

TEST_F(SetFiles, BadOffsetsSayWhatIsWrong) {
  const std::string tokens =
      Write("tokens.npy", NpyText(NpyHeader("<i4", "(3,)"), std::vector<int32_t>{1, -2, 3}));
  const auto refusal = [&](const char* shape, const std::vector<int64_t>& offsets) {
    return Refusal(tokens, Write("offsets.npy", NpyText(NpyHeader("<i8", shape), offsets)));
  };
  EXPECT_THAT(refusal("(0,)", {}), HasSubstr("an offset for each set and one more, found none"));
  EXPECT_THAT(refusal("(2,)", {1, 3}), HasSubstr("from 0 to 3, the tokens of"));
  EXPECT_THAT(refusal("(2,)", {0, 2}), HasSubstr("found 0 to 2"));
  EXPECT_THAT(refusal("(4,)", {0, 2, 1, 3}), HasSubstr("found 1 as number 2 behind 2"));
  EXPECT_THAT(refusal("(4,)", {0, -1, 1, 3}), HasSubstr("found -1 as number 1 behind 0"));
  EXPECT_THAT(
      Refusal(tokens, Write("offsets.npy", NpyText(NpyHeader("<u8", "(2,)"),
                                                   std::vector<uint64_t>{0, uint64_t{1} << 63}))),
      HasSubstr("element 1: expected an offset from 0 to 3, found 9223372036854775808"));
  EXPECT_THAT(
      ReadNumberRows(RealDisk(), Write("large.npy", NpyText(NpyHeader("<u8", "(1, 1)"),
                                                            std::vector<uint64_t>{UINT64_MAX})))
          .status()
          .message(),
      HasSubstr("element 0: expected a whole number from -2^63 to 2^63 - 1, found "
                "18446744073709551615"));
  EXPECT_THAT(refusal("(2, 1)", {0, 3}),
              HasSubstr("expected 1 dimension, found 2 dimensions: save x.ravel()"));
  const std::string text = Write("text", "1,2\n");
  EXPECT_THAT(Refusal(text, tokens), HasSubstr("--offsets is for a .npy of tokens: " + text));
  EXPECT_THAT(ReadNumberRows(RealDisk(), tokens).status().message(),
              HasSubstr("found 1 dimension: save x.reshape(-1, 1)"));
  EXPECT_THAT(refusal("(3,)", {0, 1, 3}),
              HasSubstr("row 1: expected a token, a whole number from 0"));
}

}  // namespace
}  // namespace strata
