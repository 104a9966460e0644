#include "base/file/text_file.h"

#include <gtest/gtest.h>

#include "tests/support/sim_disk.h"

namespace strata {
namespace {

const std::string kMark = "\xef\xbb\xbf";

TEST(TextFile, AByteOrderMarkIsNoPartOfTheText) {
  EXPECT_EQ(WithoutByteOrderMark(kMark + "a"), "a");
  EXPECT_EQ(WithoutByteOrderMark("a" + kMark), "a" + kMark);
  EXPECT_EQ(WithoutByteOrderMark(kMark.substr(0, 2)), kMark.substr(0, 2));
  for (const auto& [text, expected, begin] : {std::tuple{kMark + "a=1\n", std::string("a=1\n"), 3U},
                                              {std::string("a=1\n"), std::string("a=1\n"), 0U},
                                              {kMark, std::string(), 3U},
                                              {std::string(), std::string(), 0U}}) {
    SimDisk disk;
    ASSERT_TRUE(WriteFileAtomically(disk, "f", text).ok());
    EXPECT_EQ(*ReadTextFile(disk, "f", 100), expected);
    EXPECT_EQ(*TextBegin(**disk.OpenToRead("f")), begin);
  }
}

TEST(TextFile, Utf8IsToldFromOtherBytes) {
  for (const char* text : {"", "a,b", "Z\xc3\xbcrich", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                           "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  for (const char* text :
       {"Z\xfcrich", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xe2\x82", "\x80", "a\xe2\x82z"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
}

TEST(TextFile, Utf16IsAnErrorThatSaysSo) {
  using std::string_literals::operator""s;
  for (const std::string& text : {"\xff\xfe"
                                  "a\0"s,
                                  "\xfe\xff\0a"s, "a\0b\0"s, "\0a\0b"s}) {
    SimDisk disk;
    ASSERT_TRUE(WriteFileAtomically(disk, "f", text).ok());
    const Result<std::string> read = ReadTextFile(disk, "f", 100);
    EXPECT_EQ(read.status().code(), StatusCode::kInvalid);
    EXPECT_EQ(read.status().message().substr(0, 46),
              "f: expected text in UTF-8, found UTF-16: conve");
  }
}

}  // namespace
}  // namespace strata
