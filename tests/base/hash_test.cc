#include "base/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <string>
#include <vector>

namespace strata {
namespace {

TEST(HashTest, Mix64IsFrozen) {
  // The first outputs of SplitMix64 from seeds 0 and 1.
  EXPECT_EQ(Mix64(0), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(Mix64(1), 0x910a2dec89025cc1ULL);
}

TEST(HashTest, Unmix64UndoesMix64) {
  static_assert(Mix64(Unmix64(0x123456789abcdef0ULL)) == 0x123456789abcdef0ULL);
  for (uint64_t x = 1; x != 0; x <<= 1) {
    EXPECT_EQ(Unmix64(Mix64(x)), x);
    EXPECT_EQ(Mix64(Unmix64(x)), x);
  }
}

TEST(HashTest, Mix64Avalanches) {
  // Each bit of the input flips about half of the output's bits.
  for (int bit = 0; bit < 64; ++bit) {
    int flipped = 0;
    for (uint64_t x = 0; x < 1000; ++x) {
      flipped += std::popcount(Mix64(x) ^ Mix64(x ^ (1ULL << bit)));
    }
    EXPECT_NEAR(flipped / 1000.0, 32, 1) << bit;
  }
}

TEST(HashTest, Hash64IsXxh3) {
  // From the test vectors of xxHash's specification.
  EXPECT_EQ(Hash64(std::string_view("")), 0x2d06800538d394c2ULL);
  EXPECT_EQ(Hash64(std::string_view("a")), 0xe6c632b61e964e1fULL);
  const std::string text = "the bytes and the text are the same";
  EXPECT_EQ(Hash64(text), Hash64(std::as_bytes(std::span(text))));
  EXPECT_NE(Hash64(text), Hash64(text, 1));
}

// Vectors of RFC 3720, appendix B.4, and the check value of the CRC catalogue.
TEST(HashTest, Crc32cMatchesItsStandard) {
  const auto crc = [](const std::vector<uint8_t>& bytes) {
    return Crc32c(std::as_bytes(std::span(bytes)));
  };
  EXPECT_EQ(crc({}), 0u);
  EXPECT_EQ(crc(std::vector<uint8_t>(32, 0x00)), 0x8a9136aaU);
  EXPECT_EQ(crc(std::vector<uint8_t>(32, 0xff)), 0x62a8ab43U);
  std::vector<uint8_t> rising(32);
  for (size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<uint8_t>(i);
  EXPECT_EQ(crc(rising), 0x46dd794eU);
  EXPECT_EQ(Crc32c(std::as_bytes(std::span(std::string_view("123456789")))), 0xe3069283U);
}

}  // namespace
}  // namespace strata
