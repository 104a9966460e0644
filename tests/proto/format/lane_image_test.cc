// The image of a lane: pinned bytes, and that damage is an error or another image, never more.
#include "proto/format/lane_image.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace strata::format {
namespace {

LaneImage Sample() {
  LaneImage image;
  image.clients = {{.name = {1, 2}, .settled_below = 3, .writes = {{3, 0, ""}, {5, 5, "no"}}},
                   {.name = {1, 3}, .settled_below = 0, .writes = {}}};
  image.expired = {{7, 8}};
  image.groups = {{.table = 9,
                   .id = 10,
                   .world = 2,
                   .first_step = 1,
                   .closed = 4,
                   .owners = {{0, {1, 2}}, {1, {1, 3}}}}};
  return image;
}

// clang-format off: a line a field.
TEST(LaneImage, ItsBytesArePinned) {
  std::string hex;
  for (const std::byte b : EncodeLaneImage(Sample())) {
    hex += fmt::format("{:02x}", std::to_integer<int>(b));
  }
  const std::string expected =
      "535452414c414e45"
      "01000000"
      "00000000"          // magic, version, zeros
      "0200000000000000"  // clients
      "0100000000000000"
      "0200000000000000"
      "0300000000000000"  // name, settled below
      "02000000"          // writes
      "0300000000000000"
      "0000"
      "0000"  // sequence, code, text
      "0500000000000000"
      "0500"
      "0200"
      "6e6f"  // ... "no"
      "0100000000000000"
      "0300000000000000"
      "0000000000000000"
      "00000000"
      "0100000000000000"
      "0700000000000000"
      "0800000000000000"  // expired
      "0100000000000000"  // groups
      "09000000"
      "0a000000"
      "02000000"  // table, id, world
      "0100000000000000"
      "0400000000000000"
      "02000000"  // first, closed, owners
      "00000000"
      "0100000000000000"
      "0200000000000000"  // rank, client
      "01000000"
      "0100000000000000"
      "0300000000000000";
  EXPECT_EQ(hex, expected);
}
// clang-format on

TEST(LaneImage, WhatIsWrittenIsRead) {
  for (const LaneImage& image : {Sample(), LaneImage{}}) {
    const auto read = DecodeLaneImage(EncodeLaneImage(image), "x");
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(*read, image);
  }
}

TEST(LaneImage, EveryCutAndMuchDamageIsAnError) {
  const std::vector<std::byte> good = EncodeLaneImage(Sample());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(DecodeLaneImage(std::span(good).first(size), "x").ok()) << size;
  }
  std::vector<std::byte> longer = good;
  longer.push_back({});
  EXPECT_EQ(DecodeLaneImage(longer, "x").status().code(), StatusCode::kCorrupt);
  // A part's digest vouches for the bytes; what gets past it reads as written.
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::vector<std::byte> flipped = good;
    flipped[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    const auto read = DecodeLaneImage(flipped, "x");
    EXPECT_FALSE(read.ok() && *read == Sample()) << bit;
  }
  std::vector<std::byte> newer = good;
  newer[8] = std::byte{2};
  EXPECT_EQ(DecodeLaneImage(newer, "x").status().code(), StatusCode::kInvalid);
}

}  // namespace
}  // namespace strata::format
