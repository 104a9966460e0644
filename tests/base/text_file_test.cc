#include "base/text_file.h"

#include <gtest/gtest.h>

#include "base/sim_disk.h"

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

}  // namespace
}  // namespace strata
