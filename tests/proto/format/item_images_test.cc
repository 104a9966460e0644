// What keeps a collection: pinned bytes of a segment's image, a list and a manifest; what is
// written is read, and each flipped bit and each cut is an error.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "proto/format/item_list.h"
#include "proto/format/item_manifest.h"
#include "proto/format/segment_image.h"

namespace strata::format {
namespace {

using Bytes = std::vector<std::byte>;

SegmentImage Sample() {
  return {.number = 7,
          .order = 2,
          .lengths = {{0, 1}, {2, 2}},
          .ids = {9, 4, 5},
          .attributes_each = 1,
          .attributes = {-1, 3, 4},
          .direct = 3,
          .rare = {65'536},
          .short_lists = {0, 2, 1, 3},
          .long_lists = {}};
}

// More lists than 16 bits can number.
SegmentImage WideSample() {
  SegmentImage image = Sample();
  image.direct = 65'536;
  image.long_lists.assign(image.short_lists.begin(), image.short_lists.end());
  image.short_lists.clear();
  return image;
}

ItemManifest SampleManifest() {
  return {
      .lineage = 0xabcd,
      .lane = 3,
      .from = 40,
      .covered = 42,
      .segments = {
          {.number = 7, .level = 2, .age = 5, .documents = 3, .dead = 1, .order = 2, .parts = 1}}};
}

std::string Hex(const Bytes& bytes) {
  std::string hex;
  for (const std::byte b : bytes) hex += fmt::format("{:02x}", std::to_integer<int>(b));
  return hex;
}

Bytes BytesOf(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
std::string TextOf(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// clang-format off: a line a field, or some.
TEST(ItemImages, BytesArePinned) {
  EXPECT_EQ(Hex(EncodeSegmentImage(Sample())),
            "535452415345474d"
            "01000000"
            "02000000"  // magic, version, bytes of a list number
            "0700000000000000"
            "0200000000000000"  // segment, order
            "03000000"
            "02000000"
            "03000000"
            "01000000"  // documents, lengths, direct lists, others
            "0400000000000000"
            "01000000"
            "00000000"  // tokens, attributes, zeros
            "f3a1bdd1ae93219965c4a6d13239f64b"
            "0000000001000000"
            "0200000002000000"  // lengths
            "0900000000000000"
            "0400000000000000"
            "0500000000000000"  // ids
            "ffffffffffffffff"
            "0300000000000000"
            "0400000000000000"  // attributes
            "00000100"          // tokens of other lists
            "0000"
            "0200"
            "0100"
            "0300");
  EXPECT_EQ(Hex(EncodeLiveBits(7, std::vector<uint64_t>{5})),
            "535452414c495354"
            "01000000"
            "01000000"  // magic, version, kind
            "0700000000000000"
            "0100000000000000"  // segment, count
            "caff0f9f1436eeec1ba123827ad12545"
            "0500000000000000");
  EXPECT_EQ(Hex(EncodeTokenOrder(2, std::vector<uint32_t>{70'000, 1})),
            "535452414c495354"
            "01000000"
            "02000000"
            "0200000000000000"
            "0200000000000000"
            "45f52bfec3be0842e4acec9e0e0ff3f4"
            "70110100"
            "01000000");
  EXPECT_EQ(EncodeItemManifest(SampleManifest()),
            "strata-items 1 137 a3b256bb1f9f62c2\n"
            R"({"covered":42,"from":40,"lane":3,"lineage":43981,"segments":[)"
            R"({"age":5,"dead":1,"documents":3,"level":2,"number":7,"order":2,"parts":1}]})"
            "\n");
}
// clang-format on

TEST(ItemImages, WhatIsWrittenIsRead) {
  for (const SegmentImage& image : {Sample(), WideSample(), SegmentImage{}}) {
    const auto read = DecodeSegmentImage(EncodeSegmentImage(image), "x");
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(*read, image);
  }
  for (const std::vector<uint64_t>& words : {std::vector<uint64_t>{5, UINT64_MAX}, {}}) {
    const auto read = DecodeLiveBits(EncodeLiveBits(7, words), 7, "x");
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(*read, words);
  }
  const std::vector<uint32_t> order{70'000, 1, 0};
  const auto read_order = DecodeTokenOrder(EncodeTokenOrder(2, order), 2, "x");
  ASSERT_TRUE(read_order.ok()) << read_order.status().ToString();
  EXPECT_EQ(*read_order, order);
  for (const ItemManifest& manifest : {SampleManifest(), ItemManifest{}}) {
    const auto read = DecodeItemManifest(EncodeItemManifest(manifest), "x");
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(*read, manifest);
  }
}

TEST(ItemImages, EveryFlippedBitAndEveryCutIsAnError) {
  struct Kind {
    const char* name;
    Bytes good;
    std::function<Status(const Bytes&)> read;
  };
  const Kind kinds[] = {
      {"image", EncodeSegmentImage(Sample()),
       [](const Bytes& bytes) { return DecodeSegmentImage(bytes, "x").status(); }},
      {"wide image", EncodeSegmentImage(WideSample()),
       [](const Bytes& bytes) { return DecodeSegmentImage(bytes, "x").status(); }},
      {"live bits", EncodeLiveBits(7, std::vector<uint64_t>{5, 6}),
       [](const Bytes& bytes) { return DecodeLiveBits(bytes, 7, "x").status(); }},
      {"order", EncodeTokenOrder(2, std::vector<uint32_t>{70'000, 1}),
       [](const Bytes& bytes) { return DecodeTokenOrder(bytes, 2, "x").status(); }},
      {"manifest", BytesOf(EncodeItemManifest(SampleManifest())),
       [](const Bytes& bytes) { return DecodeItemManifest(TextOf(bytes), "x").status(); }},
  };
  for (const Kind& kind : kinds) {
    SCOPED_TRACE(kind.name);
    ASSERT_TRUE(kind.read(kind.good).ok());
    for (size_t bit = 0; bit < 8 * kind.good.size(); ++bit) {
      Bytes bytes = kind.good;
      bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
      ASSERT_FALSE(kind.read(bytes).ok()) << "bit " << bit;
    }
    for (size_t size = 0; size < kind.good.size(); ++size) {
      ASSERT_FALSE(kind.read(Bytes(kind.good.begin(), kind.good.begin() + size)).ok());
    }
    Bytes longer = kind.good;
    longer.push_back({});
    ASSERT_FALSE(kind.read(longer).ok());
  }
}

TEST(ItemImages, DamageIsNamed) {
  Bytes bytes = EncodeSegmentImage(Sample());
  bytes[kSegmentImageHeaderBytes + 20] ^= std::byte{1};
  EXPECT_EQ(
      DecodeSegmentImage(bytes, "items/image/7").status().ToString(),
      "CORRUPT: items/image/7: expected digest 992193aed1bda1f34bf63932d1a6c465 of 156 bytes, "
      "found 8991af786a362f0bcc9e2ab9ee1c3e69");
  bytes = EncodeSegmentImage(Sample());
  bytes[8] = std::byte{2};
  EXPECT_EQ(DecodeSegmentImage(bytes, "x").status().ToString(),
            "INVALID: x: expected a segment's image of version 1, found version 2: use the "
            "strata-server that wrote it, or a newer one");
  // Of another segment.
  EXPECT_EQ(DecodeLiveBits(EncodeLiveBits(7, {}), 8, "x").status().ToString(),
            "CORRUPT: x: expected a list of kind 1 of 8, found kind 1 of 7");
  ItemManifest manifest = SampleManifest();
  manifest.segments[0].dead = 4;
  EXPECT_EQ(
      DecodeItemManifest(EncodeItemManifest(manifest), "x").status().ToString(),
      "CORRUPT: x: segment 0: no segment can be number 7 with 3 documents, 4 of them dead, in "
      "1 parts");
  manifest = SampleManifest();
  manifest.from = 44;
  EXPECT_EQ(DecodeItemManifest(EncodeItemManifest(manifest), "x").status().ToString(),
            "CORRUPT: x: \"from\" is 44, expected a record up to \"covered\" + 1, 43");
}

}  // namespace
}  // namespace strata::format
