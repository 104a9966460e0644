// The bytes of a collection's changes, and what is not one.
#include "proto/format/item_change.h"

#include <gtest/gtest.h>

namespace strata::format {
namespace {

const ItemChange kUpsert{true, 0x1122334455667788, {0, 7, UINT32_MAX}, {-2, 5}};
const ItemChange kDelete{false, 3, {}, {}};

std::vector<std::byte> Bytes() {
  std::vector<std::byte> bytes;
  AppendItemChange(kUpsert, &bytes);
  AppendItemChange(kDelete, &bytes);
  return bytes;
}

TEST(ItemChange, TheBytesArePinned) {
  const std::vector<uint8_t> expected = {
      1,    0,    0,    0,    3,    0,    0,    0,    2,    0,    0,    0,    0,
      0,    0,    0,    0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xFE, 0xFF,
      0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 5,    0,    0,    0,    0,    0,    0,
      0,    0,    0,    0,    0,    7,    0,    0,    0,    0xFF, 0xFF, 0xFF, 0xFF,
      2,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
      0,    0,    0,    3,    0,    0,    0,    0,    0,    0,    0};
  std::vector<uint8_t> found;
  for (const std::byte byte : Bytes()) found.push_back(std::to_integer<uint8_t>(byte));
  EXPECT_EQ(found, expected);
  const auto decoded = DecodeItemChanges(Bytes());
  ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
  EXPECT_EQ(*decoded, (std::vector<ItemChange>{kUpsert, kDelete}));
}

TEST(ItemChange, EveryCutButThatBetweenTwoIsRefused) {
  const auto bytes = Bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto decoded = DecodeItemChanges(std::span(bytes).first(size));
    EXPECT_EQ(decoded.ok(), size == bytes.size() - kItemChangeHeaderBytes) << size;
    EXPECT_TRUE(decoded.ok() || decoded.status().code() == StatusCode::kCorrupt) << size;
  }
}

// Checksums are the log's; here nothing may be read that there is not, and what is read has just
// these bytes.
TEST(ItemChange, EveryFlippedBitIsRefusedOrAnotherChange) {
  const auto bytes = Bytes();
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] ^= std::byte{1} << bit % 8;
    const auto decoded = DecodeItemChanges(flipped);
    if (!decoded.ok()) continue;
    std::vector<std::byte> again;
    for (const ItemChange& change : *decoded) AppendItemChange(change, &again);
    EXPECT_EQ(again, flipped) << bit;
  }
}

TEST(ItemChange, SaysWhatIsWrongAndWhere) {
  auto bytes = Bytes();
  bytes[52] = std::byte{9};
  EXPECT_EQ(DecodeItemChanges(bytes).status().message(),
            "byte 52 of 76: expected a change of kind 1 or 2, found 9");
  bytes = Bytes();
  bytes[7] = std::byte{0xFF};
  EXPECT_EQ(DecodeItemChanges(bytes).status().message(),
            "byte 0 of 76: expected 17112760348 bytes of attributes and tokens, found 52");
}

}  // namespace
}  // namespace strata::format
