#include "ps/client/existing_rows.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "proto/wire/existence.h"

namespace strata {
namespace {

TableSpec Spec() {
  TableSpec spec;
  spec.name = "t";
  spec.dim = 2;
  return spec;
}

// Two lanes of one server. Odd keys have the row (key, 1), even ones none.
struct PullLanes : LaneExchange {
  bool says_which = true;
  uint32_t width = 2;
  std::vector<uint32_t> counts;  // of the messages that came

  wire::ShardMap Map() override { return wire::MakeShardMap({{2}}).value(); }

  Result<std::vector<wire::Received>> Exchange(LaneMessages messages) override {
    EXPECT_EQ(messages.command, wire::Command::kPull);
    EXPECT_EQ(messages.collection, static_cast<uint64_t>(Spec().id()));
    std::vector<wire::Received> replies;
    for (const LaneMessages::Part& part : messages.parts) replies.push_back(Answer(part));
    return replies;
  }

  wire::Received Answer(const LaneMessages::Part& part) {
    EXPECT_TRUE(part.flags & wire::kFlagFull);
    counts.push_back(part.count);
    std::vector<float> rows;
    std::vector<uint8_t> exists;
    const std::vector<uint64_t> keys = wire::ReadKeys(part.payload.at(0), part.count).value();
    for (const uint64_t key : keys) {
      EXPECT_EQ(Map().LaneOf(key), part.lane);
      exists.push_back(key % 2);
      rows.push_back(key % 2 == 0 ? 0.0F : static_cast<float>(key));
      rows.push_back(key % 2 == 0 ? 0.0F : 1.0F);
    }
    wire::Received reply;
    reply.header.count = part.count;
    reply.header.width = width;
    reply.payload.push_back(Frame::Own(std::move(rows)));
    if (says_which) reply.payload.push_back(Frame::Own(std::move(exists)));
    return reply;
  }
};

std::vector<Key> SomeKeys(size_t count) {
  std::vector<Key> keys;
  for (size_t i = 0; i < count; ++i) keys.push_back((i * 7) % 5000);
  return keys;
}

TEST(ExistingRows, ComeInTheOrderOfTheirKeysWithWhetherTheyExist) {
  PullLanes lanes;
  const std::vector<Key> keys = SomeKeys(6000);  // some twice, on both lanes
  const auto rows = LookUpExisting(lanes, Spec(), keys);
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  ASSERT_EQ(rows->size(), keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    const bool odd = keys[i] % 2 == 1;
    const auto key = static_cast<float>(keys[i]);
    EXPECT_EQ((*rows)[i].exists, odd) << keys[i];
    EXPECT_EQ((*rows)[i].values, odd ? std::vector({key, 1.0F}) : std::vector({0.0F, 0.0F}));
  }
}

TEST(ExistingRows, AreAskedForInMessagesThatALaneTakes) {
  PullLanes lanes;
  ASSERT_TRUE(LookUpExisting(lanes, Spec(), SomeKeys(6000)).ok());
  uint32_t keys = 0;
  for (const uint32_t count : lanes.counts) {
    EXPECT_LE(count, wire::kExistenceKeysMax);
    keys += count;
  }
  EXPECT_EQ(keys, 6000U);
}

TEST(ExistingRows, OfAnOlderServerMayExistOrNot) {
  PullLanes lanes;
  lanes.says_which = false;
  const auto rows = LookUpExisting(lanes, Spec(), std::vector<Key>{3, 4});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_EQ((*rows)[0].exists, std::nullopt);
  EXPECT_EQ((*rows)[0].values, (std::vector<float>{3, 1}));
}

TEST(ExistingRows, AReplyOfAnotherShapeIsInvalid) {
  PullLanes lanes;
  lanes.width = 3;
  const auto rows = LookUpExisting(lanes, Spec(), std::vector<Key>{3});
  EXPECT_EQ(rows.status().code(), StatusCode::kInvalid);
}

}  // namespace
}  // namespace strata
