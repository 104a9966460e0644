#include "ps/client/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "base/thread/work_pool.h"
#include "ps/client/table_wire.h"

namespace strata::client {
namespace {

TEST(ClientSplit, EveryPositionGoesToItsLaneInOrder) {
  const auto map = wire::MakeShardMap(std::vector<uint16_t>{3, 1, 4}).value();
  Random random(1);
  std::vector<Key> keys(10'000);
  for (Key& key : keys) key = random.Next();
  const auto lanes = SplitByLane(keys, map, {}, nullptr);
  ASSERT_EQ(lanes.size(), 8U);
  size_t total = 0;
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    EXPECT_TRUE(std::is_sorted(lanes[lane].begin(), lanes[lane].end()));
    for (const uint32_t at : lanes[lane]) EXPECT_EQ(map.LaneOf(keys[at]), lane);
    total += lanes[lane].size();
  }
  EXPECT_EQ(total, keys.size());
}

TEST(ClientSplit, SharesDivideTheKeysOfEachLane) {
  const auto map = wire::MakeShardMap(std::vector<uint16_t>{2, 1}).value();
  Random random(5);
  std::vector<Key> keys(30'000);
  for (Key& key : keys) key = random.Next();
  const auto all = SplitByLane(keys, map, {}, nullptr);
  std::vector<std::vector<uint32_t>> joined(all.size());
  for (uint32_t share = 0; share < 4; ++share) {
    const auto lanes = SplitByLane(keys, map, {share, 4}, nullptr);
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      EXPECT_NEAR(static_cast<double>(lanes[lane].size()), 30'000.0 / 12, 300);
      EXPECT_TRUE(std::ranges::is_sorted(lanes[lane]));
      joined[lane].insert(joined[lane].end(), lanes[lane].begin(), lanes[lane].end());
    }
  }
  for (std::vector<uint32_t>& lane : joined) std::ranges::sort(lane);
  EXPECT_EQ(joined, all);
}

TEST(ClientSplit, KeysInOrderAreDividedWithoutALookAtEach) {
  wire::ShardMap map = wire::MakeShardMap(std::vector<uint16_t>{3}).value();
  Random random(6);
  std::vector<Key> keys(20'000);
  for (Key& key : keys) key = random.Next() % 15'000;
  std::ranges::stable_sort(keys, {}, KeyGroup);
  const auto check = [&](std::span<const Key> some) {
    for (const uint32_t count : {1U, 2U, 4U}) {
      for (uint32_t index = 0; index < count; ++index) {
        EXPECT_EQ(SplitInOrder(some, map, {index, count}),
                  SplitByLane(some, map, {index, count}, nullptr));
      }
    }
  };
  check(keys);
  check({});
  check(std::span(keys).first(1));
  for (size_t shard = 0; shard < map.owner.size(); shard += 7) map.owner[shard] = 1;
  check(keys);
}

TEST(ClientSplit, WhatLiesTogetherAndHasAnOwnerIsNotCopied) {
  const auto rows = std::make_shared<std::vector<float>>(30);
  const std::span<const float> all(*rows);
  const std::vector<uint32_t> together = {2, 3, 4};
  const std::vector<uint32_t> apart = {2, 4, 5};
  const Frame shown = RowsAt(together, all, 3, rows, nullptr);
  EXPECT_EQ(shown.bytes().data(), std::as_bytes(all).data() + 2 * 3 * sizeof(float));
  EXPECT_EQ(shown.size(), 9 * sizeof(float));
  EXPECT_EQ(rows.use_count(), 2);
  for (const Frame& copied :
       {RowsAt(together, all, 3, nullptr, nullptr), RowsAt(apart, all, 3, rows, nullptr)}) {
    EXPECT_NE(copied.bytes().data(), shown.bytes().data());
    EXPECT_EQ(copied.size(), 9 * sizeof(float));
  }
}

// Large batches are worked on by several threads, whose pieces end anywhere.
TEST(ClientSplit, ThreadsChangeNothing) {
  const auto map = wire::MakeShardMap(std::vector<uint16_t>{2, 1}).value();
  const auto pool = WorkPool::Start("copy rows", 3).value();
  constexpr size_t kWidth = 5;
  Random random(3);
  std::vector<Key> keys(100'001);
  for (Key& key : keys) key = random.Next();
  std::vector<float> rows(keys.size() * kWidth);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  const auto lanes = SplitByLane(keys, map, {}, nullptr);
  EXPECT_EQ(SplitByLane(keys, map, {}, pool.get()), lanes);
  std::vector<float> back(rows.size());
  for (const std::vector<uint32_t>& lane : lanes) {
    const Frame frame = RowsAt(lane, std::span<const float>(rows), kWidth, nullptr, pool.get());
    ASSERT_EQ(frame.size(), lane.size() * kWidth * sizeof(float));
    const auto* const copied = reinterpret_cast<const float*>(frame.bytes().data());
    for (size_t i = 0; i < lane.size(); ++i) {
      ASSERT_EQ(copied[i * kWidth + 4], rows[lane[i] * kWidth + 4]);
    }
    PlaceRows(lane, frame.bytes(), kWidth * sizeof(float),
              std::as_writable_bytes(std::span(back)).data(), pool.get());
  }
  EXPECT_EQ(back, rows);
  // Side by side: copied in one go.
  const auto one_lane = wire::MakeShardMap(std::vector<uint16_t>{1}).value();
  const auto all = SplitByLane(keys, one_lane, {}, pool.get());
  const Frame frame = RowsAt(all[0], std::span<const float>(rows), kWidth, nullptr, pool.get());
  EXPECT_TRUE(std::ranges::equal(frame.bytes(), std::as_bytes(std::span(rows))));
}

// Checks that the pieces hold each position once, in order within a piece.
void ExpectPartition(const std::vector<std::vector<uint32_t>>& pieces, size_t count) {
  std::set<uint32_t> seen;
  for (const auto& piece : pieces) {
    EXPECT_TRUE(std::is_sorted(piece.begin(), piece.end()));
    seen.insert(piece.begin(), piece.end());
  }
  EXPECT_EQ(seen.size(), count);
}

TEST(ClientSplit, BySizeForReadsAndTogetherForWrites) {
  Random random(2);
  for (const size_t count : {0U, 1U, 99U, 100U, 101U, 5000U}) {
    std::vector<Key> keys(count);
    std::vector<uint32_t> positions(count);
    for (size_t i = 0; i < count; ++i) {
      keys[i] = random.Below(2000);
      positions[i] = static_cast<uint32_t>(i);
    }
    const auto reads = SplitBySize(keys, positions, 100, 1000, false).value();
    ExpectPartition(reads, count);
    for (const auto& piece : reads) EXPECT_LE(piece.size(), 100U);
    const auto writes = SplitBySize(keys, positions, 100, 1000, true).value();
    ExpectPartition(writes, count);
    std::map<Key, size_t> piece_of;
    for (size_t p = 0; p < writes.size(); ++p) {
      EXPECT_LE(writes[p].size(), 1000U);
      for (const uint32_t at : writes[p]) {
        EXPECT_EQ(piece_of.emplace(keys[at], p).first->second, p) << "a key lies in two pieces";
      }
    }
  }
}

TEST(ClientSplit, OneKeyRepeatedBeyondAMessageIsRefused) {
  const std::vector<Key> keys(1001, 5);
  std::vector<uint32_t> positions(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) positions[i] = static_cast<uint32_t>(i);
  EXPECT_EQ(SplitBySize(keys, positions, 100, 1001, true)->size(), 1U);
  EXPECT_EQ(SplitBySize(keys, positions, 100, 1000, true).status().code(), StatusCode::kRefused);
}

TEST(TableWire, EveryOptimizerComesBackWithAllItHas) {
  TableSpec spec;
  spec.name = "t";
  spec.optimizer.warmup_steps = 10;
  spec.optimizer.decay_start = UINT64_MAX - 1;
  spec.optimizer.decay_steps = 1ULL << 40;
  spec.optimizer.decay_power = 3.0F;
  spec.optimizer.end_learning_rate = 0.001F;
  spec.optimizer.clip_value = 0.5F;
  spec.optimizer.clip_norm = 0.25F;
  spec.optimizer.weight_decay = 0.125F;
  EXPECT_EQ(FromWire(ToWire(spec)).value(), spec);
  for (uint8_t kind = 1; kind <= 9; ++kind) {
    TableSpec alone;
    alone.name = "t";
    alone.optimizer.kind = OptimizerKind{kind};
    alone.optimizer.momentum = kind == 4 || kind == 5 ? 0.5F : alone.optimizer.momentum;
    alone.optimizer.rho = kind == 7 ? 0.5F : alone.optimizer.rho;
    if (kind == 8) {
      alone.optimizer.l1 = 1.0F;
      alone.optimizer.l2 = 2.0F;
      alone.optimizer.beta = 3.0F;
    }
    const auto back = FromWire(ToWire(alone));
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(*back, alone);
    EXPECT_EQ(ToWire(alone).extension.has_value(), kind > 3);
  }
}

TEST(TableWire, SpecsComeBackAndWrongOnesAreNamed) {
  TableSpec spec;
  spec.name = "users.v2";
  spec.dim = 17;
  spec.seed = 99;
  spec.optimizer = {.kind = OptimizerKind::kAdam,
                    .learning_rate = 0.5F,
                    .epsilon = 0.25F,
                    .beta1 = 0.75F,
                    .beta2 = 0.875F,
                    .initial_accumulator = 0.0F};
  spec.initializer = {.kind = InitializerKind::kNormal, .scale = 0.125F};
  EXPECT_EQ(FromWire(ToWire(spec)).value(), spec);
  EXPECT_FALSE(ToWire(spec).extension.has_value()) << "readers without extensions know this one";
  wire::TableDefinition bad = ToWire(spec);
  bad.optimizer = 200;
  EXPECT_EQ(FromWire(bad).status().code(), StatusCode::kInvalid);
  bad = ToWire(spec);
  bad.dim = 0;
  EXPECT_EQ(FromWire(bad).status().code(), StatusCode::kInvalid);
  const TableStats stats{1, 2, 3, 4, 5, 6, 7};
  const TableStats back = FromWire(ToWire(stats));
  EXPECT_EQ(back.rows, 1U);
  EXPECT_EQ(back.rejected, 7U);
  EXPECT_EQ(back.steps, 6U);
}

}  // namespace
}  // namespace strata::client
