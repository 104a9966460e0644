#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/wire/bytes.h"
#include "tests/proto/wire_samples.h"

namespace strata::wire {
namespace {

using ::testing::HasSubstr;

TEST(WireShardMap, LanesHoldEqualContiguousRanges) {
  for (uint16_t servers = 1; servers <= 20; ++servers) {
    for (uint16_t lanes = 1; lanes <= 8; ++lanes) {
      const ShardMap map = MakeShardMap(std::vector<uint16_t>(servers, lanes)).value();
      ASSERT_EQ(map.lanes.size(), size_t{servers} * lanes);
      EXPECT_EQ(map.epoch, 1U);
      std::vector<size_t> shards(map.lanes.size());
      for (size_t s = 0; s < kShards; ++s) {
        ++shards[map.owner[s]];
        if (s > 0) {
          EXPECT_GE(map.owner[s], map.owner[s - 1]);
        }
      }
      const auto [least, most] = std::minmax_element(shards.begin(), shards.end());
      EXPECT_LE(*most - *least, 1U);
    }
  }
}

TEST(WireShardMap, BadClustersAreRefused) {
  EXPECT_FALSE(MakeShardMap({}).ok());
  EXPECT_FALSE(MakeShardMap(std::vector<uint16_t>{2, 0}).ok());
  EXPECT_FALSE(MakeShardMap(std::vector<uint16_t>{1000, 25}).ok());
  EXPECT_TRUE(MakeShardMap(std::vector<uint16_t>{1000, 24}).ok());
}

TEST(WireShardMap, ShardOfIsFrozen) {
  // The top ten bits of SplitMix64's output function at x; the first is its well-known first value
  // for state 0, 0xe220a8397b1dcdaf.
  EXPECT_EQ(ShardOf(0), 0xe220a8397b1dcdafULL >> 54);
  EXPECT_EQ(ShardOf(0x9e3779b97f4a7c15ULL), 0x6e789e6aa1b965f4ULL >> 54);
}

TEST(WireShardMap, ComesBackAndBadBytesAreNamed) {
  const ShardMap map = SampleShardMap();
  const Frame frame = EncodeShardMap(map);
  const std::vector<std::byte> good(frame.bytes().begin(), frame.bytes().end());
  EXPECT_EQ(DecodeShardMap(good).value(), map);

  const auto decode = [&](auto change) {
    std::vector<std::byte> bytes = good;
    change(bytes);
    return DecodeShardMap(bytes).status();
  };
  using Bytes = std::vector<std::byte>;
  const auto expect = [&](auto change, const char* text) {
    const Status status = decode(change);
    EXPECT_EQ(status.code(), StatusCode::kInvalid);
    EXPECT_THAT(status.message(), HasSubstr(text));
  };
  expect([](Bytes& b) { b.clear(); }, "found 0");
  expect([](Bytes& b) { b.pop_back(); }, "bytes, found");
  expect([](Bytes& b) { b.push_back({}); }, "bytes, found");
  expect([](Bytes& b) { StoreLittle<uint16_t>(0, &b[4]); }, "0 lanes");
  expect([](Bytes& b) { StoreLittle<uint16_t>(0xffff, &b[4]); }, "65535 lanes");
  expect([](Bytes& b) { b[6] = std::byte{1}; }, "reserved");
  expect([](Bytes& b) { StoreLittle<uint16_t>(7, &b[8]); }, "does not follow");
  expect([](Bytes& b) { StoreLittle<uint16_t>(3, &b[20]); }, "shard 0 belongs to lane 3");
}

}  // namespace
}  // namespace strata::wire
