// The oracle against a cluster that is a std::map, with every kind of fault planted once: what it
// calls lost, doubled and wrong is what was lost, doubled and wrong.
#include "tests/soak/oracle.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace strata::soak {
namespace {

class OracleTest : public ::testing::Test {
 protected:
  static constexpr uint16_t kLanes[] = {2, 1};

  OracleTest() : load_(7, *wire::MakeShardMap(kLanes)), oracle_(&load_, 2) {}

  void Apply(uint32_t client, uint64_t op, uint32_t lanes = ~0U) {
    const Batch batch = load_.Build(client, 1, op);
    const Action action = load_.Plan(client, op).action;
    const wire::ShardMap map = *wire::MakeShardMap(kLanes);
    for (size_t i = 0; i < batch.keys.size(); ++i) {
      if ((lanes >> map.LaneOf(batch.keys[i]) & 1U) == 0) continue;
      std::vector<float>& row = rows_[batch.keys[i]];
      if (action != Action::kPush) row.clear();
      row.resize(kDim);
      for (size_t e = 0; e < kDim && action != Action::kErase; ++e) {
        const float value = batch.values[i * kDim + e];
        row[e] += action == Action::kPush ? -value : value;
      }
    }
  }
  void Submit(uint32_t client, uint64_t op) {
    oracle_.Take({.client = static_cast<uint8_t>(client), .session = 1, .op = op});
  }
  void Settle(uint32_t client, uint64_t op, uint32_t acked, uint32_t refused = 0) {
    oracle_.Take({.event = Event::kSettled,
                  .client = static_cast<uint8_t>(client),
                  .session = 1,
                  .op = op,
                  .acked = acked,
                  .refused = refused});
  }
  void Run(uint32_t client, uint64_t op) {
    Submit(client, op);
    Apply(client, op);
    Settle(client, op, ~0U);
  }
  Findings Compare(bool all = true) {
    const std::vector<Probe> probes = oracle_.Probes(all);
    std::vector<float> values;
    for (const Probe& probe : probes) {
      std::vector<float> row = rows_[probe.key];
      row.resize(kDim);
      values.insert(values.end(), row.begin(), row.end());
    }
    Findings findings;
    oracle_.Compare(probes, values, &findings);
    return findings;
  }
  // The next push from `op` on that writes to all lanes.
  uint64_t FullPush(uint32_t client, uint64_t op) const {
    while (load_.Plan(client, op).action != Action::kPush || load_.Plan(client, op).lanes != 7) {
      ++op;
    }
    return op;
  }

  Load load_;
  Oracle oracle_;
  std::map<Key, std::vector<float>> rows_;
};

TEST_F(OracleTest, FindsNothingWhereNothingIsWrong) {
  for (uint64_t op = 0; op < 1000; ++op) {
    for (const uint32_t client : {0U, 1U}) Run(client, op);
    if (op % 50 == 0) {
      EXPECT_TRUE(Compare(op % 100 == 0).none());
    }
  }
  EXPECT_TRUE(Compare().none());
  EXPECT_EQ(oracle_.acked(), 2000U);
}

TEST_F(OracleTest, UnknownOutcomesMayBeAppliedOnceOrNotOnEachLane) {
  const uint64_t target = FullPush(0, 40);
  for (uint64_t op = 0; op < target; ++op) Run(0, op);
  Submit(0, target);
  Apply(0, target, 2);
  Settle(0, target, 0);
  EXPECT_TRUE(Compare().none());
  Apply(0, target, 1);  // a message that was still under way
  EXPECT_TRUE(Compare().none());
  Apply(0, target, 2);
  EXPECT_GE(Compare().doubled, 1U);
}

TEST_F(OracleTest, WhatWasSeenStays) {
  Submit(0, 0);
  Apply(0, 0);
  EXPECT_TRUE(Compare().none());
  rows_.clear();
  EXPECT_GE(Compare().lost, 1U);
}

TEST_F(OracleTest, ALostPushIsToldOnce) {
  const uint64_t target = FullPush(1, 200);
  for (uint64_t op = 0; op <= target + 300; ++op) {
    if (op != target) {
      Run(1, op);
      continue;
    }
    Submit(1, op);
    Apply(1, op, 5);
    Settle(1, op, 7);
  }
  // Its digit on the lane, and two elements of each shared row there.
  uint64_t losses = 1;
  for (const SharedDelta& shared : load_.Plan(1, target).shared) {
    losses += load_.LaneOfShared(shared.row) == 1 ? 2 : 0;
  }
  const Findings findings = Compare();
  EXPECT_EQ(findings.lost, losses);
  EXPECT_EQ(findings.doubled + findings.wrong, 0U);
  EXPECT_TRUE(Compare().none());
}

TEST_F(OracleTest, ADoubledPushIsDoubled) {
  const uint64_t target = FullPush(0, 300);
  for (uint64_t op = 0; op <= target; ++op) Run(0, op);
  Apply(0, target, 4);
  const Findings findings = Compare();
  EXPECT_GE(findings.doubled, 1U);
  EXPECT_EQ(findings.lost + findings.wrong, 0U);
}

TEST_F(OracleTest, ARefusedPushMustNotBeThere) {
  const uint64_t target = FullPush(0, 0);
  for (uint64_t op = 0; op < target; ++op) Run(0, op);
  Submit(0, target);
  Apply(0, target);
  Settle(0, target, 5, 2);
  EXPECT_EQ(Compare().wrong, 1U);
}

TEST_F(OracleTest, ForeignBitsAreWrong) {
  for (uint64_t op = 0; op < 500; ++op) Run(0, op);
  rows_[load_.OwnKey(0, 1, 2)][3] += 0.5F;
  EXPECT_EQ(Compare().wrong, 1U);
  rows_[load_.OwnKey(0, 2, 1)][kDim - 1] += 1.0F;  // an operation that has not been submitted
  EXPECT_EQ(Compare().wrong, 1U);
  rows_[Load::SharedKey(9)][0] -= 1.0F;
  EXPECT_EQ(Compare().lost, 1U);
  rows_[Load::SharedKey(9)][5] = 1.0F;  // of a client that does not exist
  EXPECT_EQ(Compare().doubled, 1U);
}

TEST_F(OracleTest, RegistersHoldTheLastAssignment) {
  for (uint64_t op = 0; op < 32; ++op) Run(0, op);
  ASSERT_EQ(load_.Plan(0, 31).action, Action::kAssign);
  ASSERT_EQ(load_.Plan(0, 47).action, Action::kAssign);
  const std::map<Key, std::vector<float>> before = rows_;
  for (uint64_t op = 32; op < 48; ++op) Run(0, op);
  EXPECT_TRUE(Compare().none());
  for (uint32_t lane = 0; lane < 3; ++lane) {
    if ((load_.Plan(0, 47).lanes >> lane & 1U) == 0) continue;
    const Key key = load_.RegisterKey(0, 1, lane);
    rows_[key] = before.contains(key) ? before.at(key) : std::vector<float>(kDim);
    EXPECT_EQ(Compare().lost, 1U) << lane;
  }
}

TEST_F(OracleTest, AnErasedRegisterIsEmptyAndTornOnesAreWrong) {
  for (uint64_t op = 0; op < 64; ++op) Run(0, op);
  ASSERT_EQ(load_.Plan(0, 63).action, Action::kErase);
  EXPECT_TRUE(Compare().none());
  for (uint32_t lane = 0; lane < 3; ++lane) {
    if ((load_.Plan(0, 63).lanes >> lane & 1U) == 0) continue;
    std::vector<float>& row = rows_[load_.RegisterKey(0, 1, lane)];
    row.assign(kDim, 0.0F);
    row[5] = 12.0F;
    EXPECT_EQ(Compare().wrong, 1U);
  }
}

TEST_F(OracleTest, AStalePullIsWrong) {
  Run(0, 0);
  oracle_.Take({.event = Event::kStale, .client = 0, .op = 0, .acked = 3});
  EXPECT_EQ(Compare().wrong, 2U);
}

}  // namespace
}  // namespace strata::soak
