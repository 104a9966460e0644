// Frames and handshake messages as bytes: golden values, damage, limits, rules.
#include "cluster/link/connect/handshake.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "cluster/link/connect/frame.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

std::string Hex(std::string_view bytes) {
  std::string text;
  for (unsigned char c : bytes) text += fmt::format("{:02x}", c);
  return text;
}

LinkHeaderBytes ValidHeader() {
  return EncodeLinkHeader({.type = LinkFrameType::kData,
                           .length = 0x1122334455667788,
                           .operation = 0x0102030405060708,
                           .sequence = 9});
}

TEST(LinkFrame, GoldenBytes) {
  EXPECT_EQ(Hex(MakeLinkFrame({.type = LinkFrameType::kAbort, .operation = 3, .sequence = 0}, "x")),
            "534c4e4b"
            "0300"
            "0700"
            "0100000000000000"
            "0300000000000000"
            "0000000000000000"
            "d157a49b"
            "00000000"
            "78");
}

TEST(LinkFrame, RoundTrip) {
  const auto header = DecodeLinkHeader(ValidHeader());
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->type, LinkFrameType::kData);
  EXPECT_EQ(header->length, 0x1122334455667788u);
  EXPECT_EQ(header->operation, 0x0102030405060708u);
  EXPECT_EQ(header->sequence, 9u);
}

TEST(LinkFrame, EveryFlippedBitIsSeen) {
  for (size_t bit = 0; bit < kLinkHeaderBytes * 8; ++bit) {
    LinkHeaderBytes bytes = ValidHeader();
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_FALSE(DecodeLinkHeader(bytes).ok()) << bit;
  }
}

TEST(LinkFrame, RandomBytesAreNoFrames) {
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    LinkHeaderBytes bytes;
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(Mix64(seed * 64 + i));
    }
    EXPECT_EQ(DecodeLinkHeader(bytes).status().code(), StatusCode::kCorrupt);
  }
}

TEST(LinkFrame, OtherVersionAndUnknownType) {
  const auto older = DecodeLinkHeader(EncodeLinkHeader({.type = LinkFrameType::kHello}, 0));
  EXPECT_EQ(older.status().code(), StatusCode::kRefused);
  EXPECT_THAT(older.status().message(), HasSubstr("version 0 there, version 3 here"));
  for (int type : {0, 19, 65535}) {
    const auto unknown =
        DecodeLinkHeader(EncodeLinkHeader({.type = static_cast<LinkFrameType>(type)}));
    EXPECT_EQ(unknown.status().code(), StatusCode::kCorrupt);
  }
}

LinkHello Hello() {
  LinkHello hello{.purpose = LinkPurpose::kData,
                  .job = 77,
                  .world = 4,
                  .from = 3,
                  .to = 1,
                  .process = 123456,
                  .nonce = {}};
  hello.nonce.fill(7);
  return hello;
}

TEST(LinkHello, RoundTripAndGoldenBytes) {
  const std::string body = EncodeHello(Hello());
  EXPECT_EQ(Hex(body),
            "0200"
            "4d00000000000000"
            "04000000"
            "03000000"
            "01000000"
            "40e2010000000000"
            "0707070707070707070707070707070707070707070707070707070707070707");
  const auto hello = DecodeHello(body);
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(EncodeHello(*hello), body);
}

TEST(LinkHello, WrongSizeAndPurpose) {
  const std::string body = EncodeHello(Hello());
  for (size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(DecodeHello(body.substr(0, size)).ok());
  }
  EXPECT_FALSE(DecodeHello(body + "x").ok());
  std::string wrong = body;
  wrong[0] = 6;
  EXPECT_FALSE(DecodeHello(wrong).ok());
}

TEST(LinkProof, DependsOnEverything) {
  const LinkKey key = MakeLinkKey("secret");
  const LinkMac proof = DialerProof(key, "hello", "challenge");
  EXPECT_TRUE(SameMac(AsText(proof), proof));
  EXPECT_FALSE(SameMac(AsText(proof).substr(1), proof));
  EXPECT_NE(proof, DialerProof(MakeLinkKey("secret2"), "hello", "challenge"));
  EXPECT_NE(proof, DialerProof(MakeLinkKey(""), "hello", "challenge"));
  EXPECT_NE(proof, DialerProof(key, "hellp", "challenge"));
  EXPECT_NE(proof, DialerProof(key, "hello", "challengf"));
  // The acceptor's proof is no echo of the dialer's.
  EXPECT_NE(proof, AcceptorProof(key, "hello", "challenge"));
  EXPECT_NE(MakeLinkNonce(), MakeLinkNonce());
}

TEST(CheckHello, SaysWhatDiffers) {
  const LinkPlace here{.job = 77, .world = 4, .rank = 1};
  EXPECT_TRUE(CheckHello(Hello(), here).ok());
  const auto reason = [&](const auto& change) {
    LinkHello hello = Hello();
    change(&hello);
    const Status status = CheckHello(hello, here);
    EXPECT_EQ(status.code(), StatusCode::kRefused);
    return status.message();
  };
  EXPECT_THAT(reason([](LinkHello* h) { h->job = 78; }), HasSubstr("another job"));
  EXPECT_THAT(reason([](LinkHello* h) { h->world = 5; }),
              HasSubstr("was started as one of 5 workers"));
  EXPECT_THAT(reason([](LinkHello* h) { h->to = 0; }),
              HasSubstr("looks for rank 0 here, but this is rank 1"));
  for (uint32_t from : {0u, 1u, 4u, 0xffffffffu}) {
    EXPECT_THAT(reason([&](LinkHello* h) { h->from = from; }),
                HasSubstr("expected a rank from 2 to 3"));
  }
}

}  // namespace
}  // namespace strata
