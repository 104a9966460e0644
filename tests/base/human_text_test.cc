#include "base/human_text.h"

#include <gtest/gtest.h>

namespace strata {
namespace {

TEST(HumanText, ARateThatIsNotZeroDoesNotReadAsZero) {
  EXPECT_EQ(HumanRate(0), "0");
  EXPECT_EQ(HumanRate(0.42), "0.42");
  EXPECT_EQ(HumanRate(9.96), "10");
  EXPECT_EQ(HumanRate(12345.6), "12,345");
}

TEST(HumanText, OnlyAllOfItIsAHundredPercent) {
  EXPECT_EQ(WholePercent(0), 0);
  EXPECT_EQ(WholePercent(0.456), 46);
  EXPECT_EQ(WholePercent(0.9999), 99);
  EXPECT_EQ(WholePercent(1), 100);
}

TEST(HumanText, Counts) {
  EXPECT_EQ(HumanCount(0), "0");
  EXPECT_EQ(HumanCount(999), "999");
  EXPECT_EQ(HumanCount(1000), "1,000");
  EXPECT_EQ(HumanCount(1234567), "1,234,567");
  EXPECT_EQ(HumanCount(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(HumanText, Bytes) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(1023), "1023 B");
  EXPECT_EQ(HumanBytes(1024), "1.0 KiB");
  EXPECT_EQ(HumanBytes((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(HumanBytes(uint64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(HumanBytes(UINT64_MAX), "16.0 EiB");
}

TEST(HumanText, Seconds) {
  EXPECT_EQ(HumanSeconds(0.26), "0.3s");
  EXPECT_EQ(HumanSeconds(9.96), "10s");
  EXPECT_EQ(HumanSeconds(59.6), "1m00s");
  EXPECT_EQ(HumanSeconds(307), "5m07s");
  EXPECT_EQ(HumanSeconds(3 * 3600 + 4 * 60), "3h04m");
  EXPECT_EQ(HumanSeconds(2 * 86400 + 5 * 3600), "2d05h");
  EXPECT_EQ(HumanSeconds(-1), "?");
  EXPECT_EQ(HumanSeconds(1.0 / 0.0), "?");
}

TEST(HumanText, NounsAgreeWithTheirNumber) {
  EXPECT_EQ(Counted(0, "row"), "0 rows");
  EXPECT_EQ(Counted(1, "row"), "1 row");
  EXPECT_EQ(Counted(1234, "row"), "1,234 rows");
}

TEST(HumanText, BytesAreQuotedWhateverTheyAre) {
  EXPECT_EQ(QuotedBytes(""), "\"\"");
  EXPECT_EQ(QuotedBytes("a \"b\" \\ ~\n"), R"("a \"b\" \\ ~\n")");
  EXPECT_EQ(QuotedBytes(std::string_view("\0\x1f\x7f\xe0", 4)), R"("\x00\x1f\x7f\xe0")");
}

TEST(HumanText, BytesOfFilesAreShownSoThatNoTerminalObeysThem) {
  EXPECT_EQ(ShownBytes("1, two"), "1, two");
  EXPECT_EQ(ShownBytes("M\xc3\xbcnchen \xe2\x82\xac"), "M\xc3\xbcnchen \xe2\x82\xac");
  EXPECT_EQ(ShownBytes(std::string_view("\x1b[31m\0\t\x7f", 8)), R"(\x1b[31m\x00\t\x7f)");
  EXPECT_EQ(ShownBytes("\xff\xc3"), R"(\xff\xc3)");
  EXPECT_EQ(ShownBytes("\xc2\x9b"), R"(\xc2\x9b)");  // a control character, too
  EXPECT_EQ(ShownBytes("\xef\xbb\xbf"
                       "1"),
            R"(\xef\xbb\xbf1)");  // a byte order mark
  EXPECT_EQ(ShownBytes("12345", 4), "1234...");
  EXPECT_EQ(ShownBytes("12345", 5), "12345");
}

}  // namespace
}  // namespace strata
