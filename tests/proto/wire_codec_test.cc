// Round trips and bad bytes of the small payloads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/wire_samples.h"

namespace strata::wire {
namespace {

using Bytes = std::vector<std::byte>;
using ::testing::HasSubstr;

Bytes BytesOf(const Frame& frame) { return Bytes(frame.bytes().begin(), frame.bytes().end()); }

// Strictness that all decoders share: no cut, no longer input passes.
template <typename Decode>
void ExpectExactLength(const Bytes& good, Decode decode) {
  ASSERT_TRUE(decode(good).ok()) << decode(good).status().ToString();
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_EQ(decode(Bytes(good.begin(), good.begin() + static_cast<long>(length))).status().code(),
              StatusCode::kInvalid)
        << length;
  }
  Bytes longer = good;
  longer.push_back({});
  EXPECT_EQ(decode(longer).status().code(), StatusCode::kInvalid);
}

TEST(WireHello, Request) {
  const Bytes good = BytesOf(EncodeHelloRequest(SampleHelloRequest()));
  ExpectExactLength(good, [](const Bytes& b) { return DecodeHelloRequest(b); });
  EXPECT_EQ(DecodeHelloRequest(good)->client_name, "worker 3");
  Bytes bad = good;
  bad[0] = std::byte{9};
  EXPECT_THAT(DecodeHelloRequest(bad).status().message(), HasSubstr("9 to 2"));
  bad = good;
  bad[7] = std::byte{1};
  EXPECT_THAT(DecodeHelloRequest(bad).status().message(), HasSubstr("reserved"));
  const HelloRequest longest{.client_name = std::string(1000, 'x')};
  EXPECT_EQ(DecodeHelloRequest(EncodeHelloRequest(longest).bytes())->client_name.size(), 128U);
}

TEST(WireHello, Reply) {
  const HelloReply reply = SampleHelloReply();
  const Bytes good = BytesOf(EncodeHelloReply(reply));
  ExpectExactLength(good, [](const Bytes& b) { return DecodeHelloReply(b); });
  const HelloReply back = DecodeHelloReply(good).value();
  EXPECT_EQ(back.server, reply.server);
  EXPECT_EQ(back.servers, reply.servers);
  EXPECT_EQ(back.incarnation, reply.incarnation);
  EXPECT_EQ(back.lane_ports, reply.lane_ports);
  EXPECT_EQ(back.server_version, reply.server_version);
  Bytes bad = good;
  bad[4] = std::byte{3};
  EXPECT_THAT(DecodeHelloReply(bad).status().message(), HasSubstr("server 3 of 3"));
  bad = good;
  bad[17] = std::byte{0xff};
  EXPECT_THAT(DecodeHelloReply(bad).status().message(), HasSubstr("65282 lane ports"));
}

TEST(WireHello, LaneEndpoints) {
  const std::vector<std::string> endpoints = SampleLaneEndpoints();
  const Frame good = EncodeLaneEndpoints(endpoints);
  EXPECT_EQ(DecodeLaneEndpoints(good, 2).value(), endpoints);
  EXPECT_THAT(DecodeLaneEndpoints(good, 3).status().message(), HasSubstr("2 lanes, ports of 3"));
  const Bytes bytes = BytesOf(good);
  const auto shorter = Frame::Copy(std::span(bytes).first(bytes.size() - 1));
  EXPECT_EQ(DecodeLaneEndpoints(shorter, 2).status().code(), StatusCode::kInvalid);
  const Frame longest = EncodeLaneEndpoints(std::vector<std::string>{std::string(128, 'x')});
  EXPECT_TRUE(DecodeLaneEndpoints(longest, 1).ok());
  const Frame longer = EncodeLaneEndpoints(std::vector<std::string>{std::string(129, 'x')});
  EXPECT_EQ(DecodeLaneEndpoints(longer, 1).status().code(), StatusCode::kInvalid);
}

TEST(WireTables, DefinitionsComeBack) {
  const std::vector<TableDefinition> tables = SampleTables();
  const Bytes good = BytesOf(EncodeTableDefinitions(tables));
  EXPECT_EQ(DecodeTableDefinitions(good).value(), tables);
  EXPECT_TRUE(DecodeTableDefinitions({})->empty());
  const Bytes one = BytesOf(EncodeTableDefinitions(std::span(tables).first(1)));
  for (size_t length = 1; length < good.size(); ++length) {
    const bool whole = length == one.size();
    EXPECT_EQ(DecodeTableDefinitions(std::span(good).first(length)).ok(), whole) << length;
  }
  Bytes bad = one;
  bad[0] = std::byte{200};
  EXPECT_THAT(DecodeTableDefinitions(bad).status().message(), HasSubstr("name of 200 bytes"));
}

TEST(WireTables, ExtensionsComeBackBetweenDefinitionsWithout) {
  std::vector<TableDefinition> tables = SampleTables();
  tables.insert(tables.begin() + 1, SampleExtendedTable());
  const Bytes good = BytesOf(EncodeTableDefinitions(tables));
  EXPECT_EQ(DecodeTableDefinitions(good).value(), tables);
  const Bytes alone = BytesOf(EncodeTableDefinitions(std::vector{SampleExtendedTable()}));
  const size_t plain = BytesOf(EncodeTableDefinitions(std::span(tables).first(1))).size();
  ASSERT_EQ(alone.size(), plain + 66);
  for (size_t length = plain + 1; length < alone.size(); ++length) {
    EXPECT_FALSE(DecodeTableDefinitions(std::span(alone).first(length)).ok()) << length;
  }
  Bytes newer = alone;
  newer[plain + 1] = std::byte{68};
  newer.resize(newer.size() + 4);
  EXPECT_THAT(DecodeTableDefinitions(newer).status().message(),
              HasSubstr("extension of 68 bytes announced, 68 follow; expected 64"));
}

TEST(WireTables, ElementTypesComeBackAndCostNothingWhereAllIsFp32) {
  std::vector<TableDefinition> tables = SampleTables();
  const size_t before = BytesOf(EncodeTableDefinitions(tables)).size();
  tables.insert(tables.begin() + 1, SampleExtendedTable());
  tables[0].types = {.value = 2, .state = 3};
  tables[1].types = {.value = 1, .state = 3};
  const Bytes good = BytesOf(EncodeTableDefinitions(tables));
  EXPECT_EQ(DecodeTableDefinitions(good).value(), tables);
  const Bytes alone = BytesOf(EncodeTableDefinitions(std::span(tables).first(1)));
  tables[0].types = {};
  const size_t plain = BytesOf(EncodeTableDefinitions(std::span(tables).first(1))).size();
  ASSERT_EQ(alone.size(), plain + 3);
  EXPECT_LT(plain, before);
  EXPECT_EQ(alone[plain], std::byte{254}) << "longer than any name: older readers refuse it";
  for (size_t length = plain + 1; length < alone.size(); ++length) {
    EXPECT_FALSE(DecodeTableDefinitions(std::span(alone).first(length)).ok()) << length;
  }
  Bytes needless = alone;
  needless[plain + 1] = needless[plain + 2] = std::byte{1};
  EXPECT_THAT(DecodeTableDefinitions(needless).status().message(), HasSubstr("say fp32"));
}

// What builds without extensions make of one: a definition whose name is too long.
TEST(WireTables, ReadersWithoutExtensionsRefuseThem) {
  const Bytes alone = BytesOf(EncodeTableDefinitions(std::vector{SampleExtendedTable()}));
  TableDefinition without = SampleExtendedTable();
  without.extension.reset();
  const size_t plain = BytesOf(EncodeTableDefinitions(std::vector{without})).size();
  EXPECT_EQ(alone[plain], std::byte{255});
  EXPECT_GE(alone.size() - plain, 40U) << "it comes to where the name's length is looked at";
}

TEST(WireTables, AZeroWhereTheAckLevelLiesMeansTheDefault) {
  const std::vector<TableDefinition> tables = SampleTables();
  Bytes one = BytesOf(EncodeTableDefinitions(std::span(tables).first(1)));
  EXPECT_EQ(one[1], std::byte{0});
  one[1] = std::byte{3};
  EXPECT_EQ(DecodeTableDefinitions(one)->front().ack, 2U);
}

TEST(WireCheckpoints, BlocksComeBackAndBadLengthsAreNamed) {
  const std::vector<Frame> blocks = {Frame::Own(std::vector<uint64_t>{1, 2}), Frame(),
                                     Frame::Own(std::vector<char>{'x'})};
  const Frame good = EncodeBlocks(blocks);
  const std::vector<Frame> back = DecodeBlocks(good).value();
  ASSERT_EQ(back.size(), blocks.size());
  for (size_t i = 0; i < back.size(); ++i) EXPECT_EQ(BytesOf(back[i]), BytesOf(blocks[i]));
  EXPECT_TRUE(DecodeBlocks({})->empty());
  const size_t ends[] = {0, 20, 24, 29};  // after a whole number of blocks
  for (size_t length = 0; length < good.size(); ++length) {
    const auto cut = DecodeBlocks(Frame::Copy(good.bytes().first(length)));
    EXPECT_EQ(cut.ok(), std::ranges::find(ends, length) != std::end(ends)) << length;
  }
  EXPECT_FALSE(DecodeNamedBlocks(good).ok()) << "a name without bytes";
  const std::vector<NamedBlock> named = {{"dense", blocks[0]}, {"readers", blocks[2]}};
  const std::vector<NamedBlock> named_back = DecodeNamedBlocks(EncodeNamedBlocks(named)).value();
  ASSERT_EQ(named_back.size(), 2U);
  EXPECT_EQ(named_back[1].name, "readers");
  EXPECT_EQ(BytesOf(named_back[1].bytes), BytesOf(blocks[2]));
  EXPECT_THAT(
      DecodeNamedBlocks(EncodeNamedBlocks(std::vector<NamedBlock>{{std::string(65, 'x'), {}}}))
          .status()
          .message(),
      HasSubstr("name of 65 bytes"));
}

TEST(WireCheckpoints, ListsComeBack) {
  const Bytes good = BytesOf(EncodeCheckpointList(SampleCheckpoints()));
  EXPECT_EQ(DecodeCheckpointList(good).value(), SampleCheckpoints());
  const size_t first = good.size() - 36;
  for (size_t length = 1; length < good.size(); ++length) {
    EXPECT_EQ(DecodeCheckpointList(std::span(good).first(length)).ok(), length == first) << length;
  }
}

TEST(WireStats, ComeBack) {
  const Bytes good = BytesOf(EncodeStats(SampleStats()));
  ExpectExactLength(good, [](const Bytes& b) { return DecodeStats(b); });
  EXPECT_EQ(DecodeStats(good).value(), SampleStats());
}

TEST(WirePayload, KeysAndRowsMustHaveTheAnnouncedSize) {
  const Frame keys = Frame::Own(std::vector<uint64_t>{1, ~uint64_t{0}});
  EXPECT_EQ(ReadKeys(keys, 2).value(), (std::vector<uint64_t>{1, ~uint64_t{0}}));
  EXPECT_FALSE(ReadKeys(keys, 1).ok());
  EXPECT_FALSE(ReadKeys(keys, 0xffffffff).ok());
  EXPECT_TRUE(ReadKeys({}, 0)->empty());
  const Frame rows = Frame::Own(std::vector<float>{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(ReadRows(rows, 2, 3)->size(), 6U);
  EXPECT_FALSE(ReadRows(rows, 2, 2).ok());
  // 2^31 x 2^31 x 4 is 0 modulo 2^64.
  EXPECT_FALSE(ReadRows({}, 1U << 31, 1U << 31).ok());
  EXPECT_TRUE(ReadRows({}, 0, 16)->empty());
  // A frame that starts at an odd address.
  Bytes odd(1 + 16);
  odd[1] = std::byte{5};
  EXPECT_EQ(ReadKeys(Frame(nullptr, std::span(odd).subspan(1)), 2).value(),
            (std::vector<uint64_t>{5, 0}));
}

TEST(WirePayload, RepliesCarryAStatus) {
  Header request = Samples().front().header;
  request.command = Command::kDropTable;
  const Received good = Open(MakeReply(request, 5, {}, {})).value();
  EXPECT_TRUE(StatusOfReply(good).ok());
  EXPECT_EQ(good.header.incarnation, 5U);
  EXPECT_EQ(good.header.request_id, request.request_id);
  EXPECT_TRUE(good.header.is(kFlagReply));

  const Received bad = Open(MakeReply(request, 5, NotFound("no table 7"), {Frame()})).value();
  EXPECT_EQ(StatusOfReply(bad).code(), StatusCode::kNotFound);
  EXPECT_EQ(StatusOfReply(bad).message(), "no table 7");

  // 4,095 bytes, then a character of two bytes that would be cut in half.
  const std::string text = std::string(4095, 'x') + "\xc3\xa9" + "more";
  EXPECT_EQ(StatusOfReply(Open(MakeReply(request, 5, Failed(text), {})).value()).message().size(),
            4095U);

  Received strange = bad;
  strange.header.status = 999;
  EXPECT_EQ(StatusOfReply(strange).code(), StatusCode::kFailed);
  EXPECT_THAT(StatusOfReply(strange).message(), HasSubstr("999"));
}

}  // namespace
}  // namespace strata::wire
