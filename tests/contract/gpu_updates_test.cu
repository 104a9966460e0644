// Updates together, on a GPU, beside the std::map model with one after the other.
#include <gmock/gmock.h>

#include <limits>
#include <numeric>
#include <random>

#include "storage/memory/host_table.h"
#include "tests/contract/hot_tiers.cuh"
#include "tests/contract/table_bits.h"
#include "tests/contract/table_contract.h"
#include "tests/support/device_memory.cuh"
#include "tests/support/map_table.h"

namespace strata {
namespace {

class GpuUpdates : public testing::Test {
 protected:
  void SetUp() override {
    STRATA_SKIP_BELOW_GPUS(1);
    auto pool = DevicePool::Make(0, size_t{256} << 20);
    ASSERT_TRUE(pool.ok()) << pool.status().ToString();
    pool_ = std::move(*pool);
    auto workers = WorkPool::Start("gather", 1);
    ASSERT_TRUE(workers.ok()) << workers.status().ToString();
    workers_ = std::move(*workers);
  }

  std::unique_ptr<GpuTable> Alone(const TableSpec& spec) {
    return std::make_unique<GpuTable>(spec, *pool_, PinnedPool::Make());
  }
  std::unique_ptr<HotTable> Tiered(const TableSpec& spec, uint64_t rows_max) {
    return std::make_unique<HotTable>(spec, *pool_, PinnedPool::Make(),
                                      std::make_unique<HostTable>(spec, nullptr, RowOrder::kByHome),
                                      *workers_,
                                      HotTableOptions{.rows_max = rows_max, .chunk_rows_min = 16});
  }

  std::unique_ptr<DevicePool> pool_;
  std::unique_ptr<WorkPool> workers_;
};

// Updates that a seed draws: keys repeat within and across them, some bring none, and time may run
// backward.
struct Updates {
  std::vector<std::vector<Key>> keys;
  std::vector<std::vector<float>> gradients;
  std::vector<uint64_t> steps;

  Updates(std::mt19937_64& random, uint32_t dim) : keys(2 + random() % 8) {
    for (std::vector<Key>& of_one : keys) {
      of_one.resize(random() % 60);
      for (Key& key : of_one) key = Mix64(random() % (1 + random() % 600));
      if (random() % 8 == 0) of_one.resize(of_one.size() + 90, Mix64(3));
      std::vector<float>& floats = gradients.emplace_back(of_one.size() * dim);
      for (float& x : floats) x = static_cast<float>(random() % 2001) * 1e-3F - 1.0F;
      if (!floats.empty() && random() % 3 == 0) {
        floats[random() % floats.size()] = std::numeric_limits<float>::quiet_NaN();
      }
      steps.push_back(1 + random() % 30);
    }
  }
  std::vector<GradientPart> Parts() const {
    std::vector<GradientPart> parts;
    for (size_t i = 0; i < keys.size(); ++i) parts.push_back({keys[i], gradients[i]});
    return parts;
  }
  void ApplyOneByOne(LocalTable& table, size_t count) const {
    for (size_t i = 0; i < count; ++i) {
      const GradientPart part{keys[i], gradients[i]};
      ASSERT_TRUE(table.ApplyGradients({&part, 1}, steps[i]).ok());
    }
  }
};

void ExpectStatsAreEqual(const TableStats& found, const TableStats& expected) {
  EXPECT_EQ(found.rows, expected.rows);
  EXPECT_EQ(found.updates, expected.updates);
  EXPECT_EQ(found.steps, expected.steps);
  EXPECT_EQ(found.rejected, expected.rejected);
}

// Updates, among other writes, with snapshots under way.
void CheckTogether(LocalTable& table, uint64_t seed) {
  MapTable model(table.spec());
  const uint32_t dim = table.spec().dim;
  std::mt19937_64 random(seed);
  uint32_t epoch = 0;
  for (int turn = 0; turn < 24; ++turn) {
    if (turn % 6 == 2) {
      EXPECT_EQ(table.BeginSnapshot(0), model.BeginSnapshot(0));
      table.SetEpoch(++epoch);
      model.SetEpoch(epoch);
    }
    const Updates updates(random, dim);
    const size_t count = random() % 4 == 0 ? random() % updates.keys.size() : updates.keys.size();
    const Status prepared = table.PrepareUpdates(updates.Parts());
    ASSERT_TRUE(prepared.ok()) << prepared.ToString();
    table.CommitUpdates(std::span(updates.steps).first(count));
    updates.ApplyOneByOne(model, count);
    if (turn % 6 == 4) EXPECT_TRUE(BitsOfSnapshot(table) == BitsOfSnapshot(model));
    const std::vector<Key> some = {Mix64(3), Mix64(random() % 600), Mix64(random() % 600)};
    if (random() % 3 == 0) ASSERT_TRUE(table.Erase(some).ok() && model.Erase(some).ok());
    EXPECT_EQ(BitsOf(RowsOf(table, some)), BitsOf(RowsOf(model, some)));
  }
  EXPECT_TRUE(BitsOfTable(table) == BitsOfTable(model));
  ExpectStatsAreEqual(table.Stats(), model.Stats());
  EXPECT_GT(model.Stats().rejected, 5U);
}

TEST_F(GpuUpdates, TogetherAreThoseOneByOneToTheBit) {
  for (const OptimizerKind kind : kOptimizerKinds) {
    for (const bool shaped : {false, true}) {
      TableSpec spec = ContractSpec("t", shaped ? 5 : 8, kind, InitializerKind::kUniform);
      if (shaped) spec = ShapedSpec(spec);
      SCOPED_TRACE(testing::Message() << static_cast<int>(kind) << (shaped ? ", shaped" : ""));
      const uint64_t seed = 1 + static_cast<uint64_t>(kind);
      CheckTogether(*Alone(spec), seed);
      const auto tiered = Tiered(spec, 450);
      CheckTogether(*tiered, seed);
      EXPECT_GT(tiered->hot_stats().moved_down, 0U);
      EXPECT_EQ(tiered->Stats().passed_down, 0U);
    }
  }
}

// Tables, and updates, that are not for it say so; nothing has changed, and one by one they come.
TEST_F(GpuUpdates, WhatIsNotForThemTogetherComesOneByOne) {
  const TableSpec spec = ContractSpec("t", 3, OptimizerKind::kAdam, InitializerKind::kUniform);
  TableSpec narrow = spec;
  narrow.value_type = ElementType::kBf16;
  HotTiers admits_late(spec, {.admit_from = 3}, 1'000, {});
  HotTiers expires(spec, {.ttl_steps = 50}, 1'000, {});
  const auto rounds = Alone(narrow);
  const auto small = Tiered(spec, 20);
  for (LocalTable* table :
       {static_cast<LocalTable*>(&admits_late.table()), static_cast<LocalTable*>(&expires.table()),
        static_cast<LocalTable*>(rounds.get()), static_cast<LocalTable*>(small.get())}) {
    std::mt19937_64 random(5);
    const Updates updates(random, spec.dim);
    EXPECT_EQ(table->PrepareUpdates(updates.Parts()).code(), StatusCode::kRefused);
    EXPECT_EQ(table->Stats().rows, 0U);
    updates.ApplyOneByOne(*table, updates.keys.size());
    EXPECT_EQ(table->Stats().steps, updates.keys.size());
    EXPECT_GT(table->Stats().rows, 0U);
  }
}

// Rows whose elements are loaded four at once, and those that are not, round to the same bits.
TEST_F(GpuUpdates, NarrowRowsOfEveryOptimizerAreTheModelsToTheBit) {
  constexpr std::pair<ElementType, ElementType> kTypes[] = {
      {ElementType::kBf16, ElementType::kBf16},
      {ElementType::kFp16, ElementType::kFp32},
      {ElementType::kFp32, ElementType::kFp16}};
  for (const OptimizerKind kind : kOptimizerKinds) {
    for (const uint32_t dim : {4U, 6U, 128U, 132U}) {
      const auto& [value_type, state_type] =
          kTypes[(static_cast<size_t>(kind) + dim) % std::size(kTypes)];
      TableSpec spec = ContractSpec("t", dim, kind, InitializerKind::kUniform);
      spec.value_type = value_type;
      spec.state_type = state_type;
      SCOPED_TRACE(testing::Message() << OptimizerKindName(kind) << " dim " << dim << ", "
                                      << ElementTypeName(value_type) << " rows, "
                                      << ElementTypeName(state_type) << " states");
      const auto table = Alone(spec);
      MapTable model(spec);
      std::mt19937_64 random(dim);
      const Updates updates(random, dim);
      updates.ApplyOneByOne(*table, updates.keys.size());
      updates.ApplyOneByOne(model, updates.keys.size());
      EXPECT_TRUE(BitsOfTable(*table) == BitsOfTable(model));
    }
  }
}

// Of more keys than a batch may have nothing is read: here there are none.
TEST_F(GpuUpdates, ABatchOfMoreKeysThanAreCountedIsInvalid) {
  const TableSpec spec = ContractSpec("t", 1, OptimizerKind::kSgd, InitializerKind::kZero);
  const Key key = 5;
  const float one = 1.0F;
  const std::span<const Key> many(&key, (size_t{1} << 31) - 1);
  const std::span<const float> values(&one, many.size());
  const GradientPart halves[] = {{many.first(1), values.first(1)}, {many, values}};
  for (const bool tiered : {false, true}) {
    SCOPED_TRACE(tiered);
    const std::unique_ptr<GpuTable> table = tiered ? Tiered(spec, 100) : Alone(spec);
    ASSERT_TRUE(table->Assign(many.first(1), values.first(1)).ok());
    float found = 0;
    for (const Status& status : {table->PrepareUpdate(halves), table->PrepareUpdates(halves),
                                 table->PrepareAssign(many, values), table->PrepareErase(many),
                                 table->Lookup(many, {&found, many.size()})}) {
      EXPECT_EQ(status.code(), StatusCode::kInvalid) << status.ToString();
      EXPECT_THAT(status.message(), testing::HasSubstr("at most 2147483646 go into one"));
    }
    ASSERT_TRUE(table->Lookup(many.first(1), {&found, 1}).ok());
    EXPECT_EQ(found, 1.0F);
    EXPECT_EQ(table->Stats().passed_down, 0U);
  }
}

}  // namespace
}  // namespace strata
