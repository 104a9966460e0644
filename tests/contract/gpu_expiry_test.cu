// Rows that expire (TierPolicy::ttl_steps) where some lie on a GPU: each thing that could go wrong
// between the tiers, by itself.
#include <limits>

#include "tests/contract/hot_tiers.cuh"
#include "tests/contract/table_bits.h"
#include "tests/contract/table_contract.h"
#include "tests/support/device_memory.cuh"
#include "tests/support/map_table.h"
#include "tests/support/ones.h"

namespace strata {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr uint32_t kDim = 2;

TableSpec Spec() {
  return ContractSpec("t", kDim, OptimizerKind::kAdaGrad, InitializerKind::kUniform);
}

std::vector<float> Filled(size_t keys, float value) {
  return std::vector<float>(keys * kDim, value);
}

std::vector<Key> KeysOf(const TableBits& bits) {
  std::vector<Key> keys;
  for (const auto& [key, row] : bits) keys.push_back(key);
  return keys;
}

// All rows of a snapshot of now, which is over then.
TableBits SnapshotOf(LocalTable& table, uint32_t since, uint32_t epoch) {
  EXPECT_EQ(table.BeginSnapshot(since), since);
  table.SetEpoch(epoch);
  return BitsOfSnapshot(table);
}

class GpuExpiry : public testing::Test {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }

  // Rows that were assigned, which the table below knows, and then pushed to on the GPU; they have
  // expired there since, while what lies below has no age.
  static void MakeExpired(HotTable& table, std::span<const Key> keys, std::span<const Key> others) {
    ASSERT_TRUE(table.Assign(keys, Filled(keys.size(), 0.5F)).ok());
    ASSERT_EQ(BitsOfTable(table).size(), keys.size());
    ASSERT_TRUE(Push(table, keys, 1).ok());
    ASSERT_TRUE(table.Assign(others, Filled(others.size(), 0.5F)).ok());
    ASSERT_TRUE(Push(table, others, 30).ok());
    ASSERT_EQ(table.hot_stats().rows, keys.size() + others.size());
  }

  const std::vector<Key> keys_ = Range(0, 20);
  const std::vector<Key> others_ = Range(100, 3);
};

TEST_F(GpuExpiry, AnExpiredRowIsNoneThoughAnOlderOneLiesBelow) {
  HotTiers tiers(Spec(), {.ttl_steps = 10}, 1000, {.rows_max = 1000});
  HotTable& table = tiers.table();
  MakeExpired(table, keys_, others_);
  MapTable fresh(Spec());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(RowsOf(table, keys_), RowsOf(fresh, keys_));
    table.Prefetch(keys_);
  }
  EXPECT_EQ(table.Stats().lookup_hits, 0U);
  EXPECT_EQ(table.hot_stats().moved_up, 0U) << "it was asked for below";
  EXPECT_EQ(KeysOf(BitsOfTable(table)), others_);
  EXPECT_EQ(KeysOf(SnapshotOf(table, 0, 1)), others_);
  fresh.SetEpoch(1);
  // The next push finds a new row; one is enough to tell them all apart from the old ones.
  for (LocalTable* one : {static_cast<LocalTable*>(&table), static_cast<LocalTable*>(&fresh)}) {
    ASSERT_TRUE(one->Erase(others_).ok());
    ASSERT_TRUE(Push(*one, keys_, 31).ok());
  }
  EXPECT_TRUE(BitsOfTable(table) == BitsOfTable(fresh));
}

// Also one whose sum alone is not finite.
TEST_F(GpuExpiry, ARejectedPushLeavesAnExpiredRowExpired) {
  for (const uint32_t admit_from : {1U, 3U}) {
    HotTiers tiers(Spec(), {.admit_from = admit_from, .ttl_steps = 10}, 1000, {.rows_max = 1000});
    HotTable& table = tiers.table();
    MakeExpired(table, keys_, others_);
    std::vector<Key> twice = keys_;
    twice.insert(twice.end(), keys_.begin(), keys_.end());
    std::vector<float> gradients = Filled(twice.size(), 2e38F);
    for (size_t i = 0; i < 5; ++i) gradients[i * kDim] = kNan;
    const GradientPart part{twice, gradients};
    ASSERT_TRUE(table.ApplyGradients({&part, 1}, 31).ok());
    EXPECT_EQ(table.Stats().rejected, keys_.size());
    EXPECT_EQ(KeysOf(BitsOfTable(table)), others_);
    MapTable fresh(Spec());
    EXPECT_EQ(RowsOf(table, keys_), RowsOf(fresh, keys_));
  }
}

// Rows that are pushed at every step, and so on the GPU and alive, while what lies below of them
// has expired; and rows that have no age, of which more come than there is memory for.
class GpuExpiryUnderPressure : public GpuExpiry {
 protected:
  GpuExpiryUnderPressure() : tiers_(Spec(), {.ttl_steps = 1}, 60, {.rows_max = 60}) {}

  HotTable& table() { return tiers_.table(); }
  void Step() {
    ++step_;
    const std::vector<Key> more = Range(1000 + 10 * step_, 10);
    for (LocalTable* one :
         {static_cast<LocalTable*>(&table()), static_cast<LocalTable*>(&model_)}) {
      ASSERT_TRUE(Push(*one, keys_, step_).ok());
      ASSERT_TRUE(one->Assign(more, Filled(more.size(), 0.5F)).ok());
    }
  }

  HotTiers tiers_;
  MapTable model_{Spec()};
  uint64_t step_ = 0;
};

TEST_F(GpuExpiryUnderPressure, RowsAreCountedOnce) {
  for (int i = 0; i < 60; ++i) {
    Step();
    ASSERT_EQ(table().Stats().rows, model_.Stats().rows) << "step " << step_;
    if (i % 10 == 0) ASSERT_TRUE(BitsOfTable(table()) == BitsOfTable(model_)) << "step " << step_;
    ASSERT_EQ(table().Stats().rows, model_.Stats().rows) << "step " << step_;
  }
  EXPECT_GT(table().Stats().cold_rows, 300U);
}

// With steps between its pages.
TEST_F(GpuExpiryUnderPressure, AScanHasEachRowOnce) {
  for (int i = 0; i < 10; ++i) Step();
  const TableBits before = BitsOfTable(model_);
  ScanPage page;
  page.rows_max = 3;
  TableBits rows;
  while (!page.done && !HasFailure()) {
    ASSERT_TRUE(table().Scan(page).ok());
    ScanPage with_counters = page;
    with_counters.counters.resize(page.keys.size());
    AddPage(with_counters, &rows);
    Step();
  }
  EXPECT_GT(step_, 40U);
  for (const auto& [key, row] : before) EXPECT_TRUE(rows.contains(key)) << "key " << key;
}

TEST_F(GpuExpiryUnderPressure, RowsThatComeDownFindTheirPlace) {
  for (int i = 0; i < 30; ++i) {
    Step();
    if (i == 20) ASSERT_TRUE(BitsOfTable(table()) == BitsOfTable(model_));  // all are known below
  }
  const uint64_t down = table().hot_stats().moved_down;
  // More than the GPU has room for: all that is there goes down.
  const std::vector<Key> many = Range(100'000, 100);
  for (LocalTable* one : {static_cast<LocalTable*>(&table()), static_cast<LocalTable*>(&model_)}) {
    ASSERT_TRUE(one->Assign(many, Filled(many.size(), 0.25F)).ok());
  }
  EXPECT_EQ(table().hot_stats().rows, 0U);
  EXPECT_GE(table().hot_stats().moved_down, down + keys_.size());
  EXPECT_EQ(table().Stats().rows, model_.Stats().rows);
  EXPECT_EQ(RowsOf(table(), keys_), RowsOf(model_, keys_));
  EXPECT_TRUE(BitsOfTable(table()) == BitsOfTable(model_));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(table().Erase(keys_).ok());
    ASSERT_TRUE(model_.Erase(keys_).ok());
    EXPECT_EQ(table().Stats().rows, model_.Stats().rows);
    EXPECT_TRUE(BitsOfTable(table()) == BitsOfTable(model_));
    EXPECT_EQ(RowsOf(table(), keys_), RowsOf(model_, keys_));
    const std::vector<Key> more = Range(200'000 + 1000 * i, 50);
    ASSERT_TRUE(table().Assign(more, Filled(more.size(), 0.25F)).ok());
    ASSERT_TRUE(model_.Assign(more, Filled(more.size(), 0.25F)).ok());
  }
}

TEST_F(GpuExpiry, RowsThatHaveHadTheirTimeLeaveAllTiers) {
  HotTiers tiers(Spec(), {.ttl_steps = 3}, 300, {.rows_max = 100});
  OwnTieredTable alone(Spec(), {.ttl_steps = 3}, 300);
  for (uint64_t step = 1; step <= 200; ++step) {
    ASSERT_TRUE(Push(tiers.table(), Range(step * 50, 50), step).ok());
    ASSERT_TRUE(Push(alone, Range(step * 50, 50), step).ok());
  }
  EXPECT_GT(tiers.table().hot_stats().moved_down, 5'000U);
  EXPECT_LT(alone.Stats().rows, 1'000U) << "of 10,000 that were made";
  EXPECT_LT(tiers.table().Stats().rows, 1'000U);
}

TEST_F(GpuExpiry, ASnapshotSinceAnotherIsWholeOnceTimeMayHaveRunOut) {
  HotTiers tiers(Spec(), {.ttl_steps = 10}, 1000, {.rows_max = 1000});
  HotTable& table = tiers.table();
  ASSERT_TRUE(Push(table, keys_, 1).ok());
  EXPECT_EQ(SnapshotOf(table, 0, 1).size(), keys_.size());
  table.ForgetErased(1);
  ASSERT_TRUE(Push(table, others_, 11).ok());
  EXPECT_EQ(KeysOf(SnapshotOf(table, 1, 2)), others_);
  table.ForgetErased(2);
  ASSERT_TRUE(Push(table, others_, 12).ok());
  EXPECT_EQ(table.BeginSnapshot(2), 0U);
  EXPECT_EQ(KeysOf(SnapshotOf(table, 0, 3)), others_);
}

// Wherever its row lies.
TEST_F(GpuExpiry, AnExpiredKeyIsAdmittedAnew) {
  const TierPolicy policy = {.admit_from = 3, .ttl_steps = 10};
  for (const uint64_t hot_rows_max : {1000U, 30U}) {
    for (const uint64_t warm_rows_max : {1000U, 30U}) {
      SCOPED_TRACE(testing::Message() << hot_rows_max << " on the GPU, " << warm_rows_max);
      HotTiers tiers(Spec(), policy, warm_rows_max, {.rows_max = hot_rows_max});
      OwnTieredTable alone(Spec(), policy, warm_rows_max);
      for (LocalTable* table :
           {static_cast<LocalTable*>(&tiers.table()), static_cast<LocalTable*>(&alone)}) {
        ASSERT_TRUE(table->Assign(keys_, Filled(keys_.size(), 0.5F)).ok());
        ASSERT_TRUE(Push(*table, keys_, 1).ok());
        const std::vector<Key> more = Range(1000, 200);  // move the others, if there is no room
        ASSERT_TRUE(table->Assign(more, Filled(more.size(), 0.5F)).ok());
        ASSERT_TRUE(Push(*table, std::span(more).first(1), 30).ok());
        for (uint64_t push = 1; push <= 4; ++push) {
          ASSERT_TRUE(Push(*table, keys_, 30 + push).ok());
          EXPECT_EQ(table->Stats().not_admitted, std::min<uint64_t>(push, 2) * keys_.size());
          const TableBits bits = BitsOfTable(*table);
          ASSERT_EQ(bits.contains(keys_[0]), push >= 3);
          if (push >= 3) EXPECT_EQ(bits.at(keys_[0]).frequency, push - 2);
        }
      }
      EXPECT_TRUE(BitsOfTable(tiers.table()) == BitsOfTable(alone));
    }
  }
}

}  // namespace
}  // namespace strata
