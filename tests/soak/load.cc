#include "tests/soak/load.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "strata/status.h"

namespace strata::soak {
namespace {

// Every sixteenth operation assigns its register, one in 64 erases it, one in four writes to a
// single lane.
constexpr uint64_t kAssignEvery = 16;
constexpr uint64_t kEraseEvery = 64;
constexpr uint64_t kSingleLaneEvery = 4;
constexpr uint32_t kDeltaMax = 3;

// Prefixes of keys; the rest is built from bits that cannot run over.
constexpr uint64_t kOwnRow = 1;
constexpr uint64_t kRegister = 2;
constexpr uint32_t kTriesBits = 14;

}  // namespace

TableSpec SoakTable() {
  TableSpec spec;
  spec.name = "soak";
  spec.dim = kDim;
  spec.optimizer.kind = OptimizerKind::kSgd;
  spec.optimizer.learning_rate = 1.0F;
  spec.initializer.kind = InitializerKind::kZero;
  return spec;
}

Load::Load(uint64_t seed, wire::ShardMap map) : seed_(seed), map_(std::move(map)) {
  STRATA_CHECK(map_.lanes.size() <= kLanesMax);
}

PlannedOp Load::Plan(uint32_t client, uint64_t op) const {
  uint64_t bits = Mix64(seed_ + (uint64_t{client} << 56) + op);
  const auto below = [&bits](uint64_t n) {
    bits = Mix64(bits + 1);
    return static_cast<uint32_t>(bits % n);
  };
  PlannedOp plan;
  const auto lanes_count = static_cast<uint32_t>(lanes());
  plan.lanes = below(kSingleLaneEvery) == 0 ? 1U << below(lanes_count) : (1U << lanes_count) - 1;
  if (op % kAssignEvery == kAssignEvery - 1) {
    plan.action = op % kEraseEvery == kEraseEvery - 1 ? Action::kErase : Action::kAssign;
    return plan;
  }
  for (uint32_t i = 0; i < kSharedKeysPerPush; ++i) {
    const uint32_t row = below(kSharedKeys);
    const uint32_t delta = 1 + below(kDeltaMax);
    const bool repeated = std::any_of(plan.shared.begin(), plan.shared.end(),
                                      [row](const SharedDelta& d) { return d.row == row; });
    if (!repeated && (plan.lanes >> LaneOfShared(row) & 1U) != 0) {
      plan.shared.push_back({row, delta});
    }
  }
  return plan;
}

Batch Load::Build(uint32_t client, uint32_t session, uint64_t op) const {
  const PlannedOp plan = Plan(client, op);
  Batch batch;
  for (uint32_t lane = 0; lane < lanes(); ++lane) {
    if ((plan.lanes >> lane & 1U) == 0) continue;
    batch.keys.push_back(plan.action == Action::kPush ? OwnKey(client, op / kOpsPerRow, lane)
                                                      : RegisterKey(client, session, lane));
  }
  if (plan.action == Action::kErase) return batch;
  batch.values.assign(batch.keys.size() * kDim, 0.0F);
  for (size_t i = 0; i < batch.keys.size(); ++i) {
    float* const row = &batch.values[i * kDim];
    if (plan.action == Action::kPush) {
      row[ElementOf(op)] = -static_cast<float>(1U << (2 * DigitOf(op)));
    } else {
      for (uint32_t e = 0; e < kDim; ++e) row[e] = RegisterValue(op, e);
    }
  }
  for (const SharedDelta& shared : plan.shared) {
    batch.keys.push_back(SharedKey(shared.row));
    batch.values.resize(batch.values.size() + kDim, 0.0F);
    float* const row = &batch.values[batch.values.size() - kDim];
    row[client] = -static_cast<float>(shared.delta);
    row[kDim - 1] = -static_cast<float>(shared.delta);
  }
  return batch;
}

Key Load::OwnKey(uint32_t client, uint64_t row, uint32_t lane) const {
  return KeyOnLane(kOwnRow << 28 | uint64_t{client} << 24 | row, lane);
}

Key Load::RegisterKey(uint32_t client, uint32_t session, uint32_t lane) const {
  return KeyOnLane(kRegister << 28 | uint64_t{client} << 24 | session, lane);
}

Key Load::KeyOnLane(uint64_t high, uint32_t lane) const {
  for (uint64_t low = 0; low < (uint64_t{1} << kTriesBits); ++low) {
    const Key key = (high << 4 | lane) << kTriesBits | low;
    if (map_.LaneOf(key) == lane) return key;
  }
  STRATA_CHECK(false);
  return 0;
}

float RegisterValue(uint64_t op, uint32_t element) {
  const uint64_t value = op + 1;  // an erased row reads 0
  return static_cast<float>(element % 2 == 0 ? value >> 12 : value & 4095);
}

}  // namespace strata::soak
