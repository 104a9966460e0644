// What operations do to rows.
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "kernels/core/initializer.h"
#include "tests/contract/table_contract.h"

namespace strata {
namespace {

const std::vector<Key> kOddKeys = {0, 1, Key{1} << 63, UINT64_MAX, UINT64_MAX - 1, 12345};

std::vector<float> Ramp(size_t size, float step) {
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) values[i] = step * static_cast<float>(i + 1);
  return values;
}

TEST_P(TableContract, MissingRowsAnswerWithTheirInitialValue) {
  for (const InitializerKind kind : kInitializerKinds) {
    for (const uint32_t dim : {1U, 3U, 16U, 1024U}) {
      const std::string name = std::string(InitializerKindName(kind)) + std::to_string(dim);
      const TableSpec spec = ContractSpec(name, dim, OptimizerKind::kSgd, kind);
      store.Create(spec);
      std::vector<float> expected(kOddKeys.size() * dim);
      InitialRows(Exec{}, spec.initializer, spec.seed, kOddKeys, dim, expected);
      EXPECT_EQ(store.Lookup(spec, kOddKeys), expected);
    }
  }
}

TEST_P(TableContract, LookupChangesNothing) {
  const TableSpec spec = ContractSpec("t", 4, OptimizerKind::kAdaGrad, InitializerKind::kNormal);
  store.Create(spec);
  const std::vector<float> first = store.Lookup(spec, kOddKeys);
  EXPECT_EQ(store.Lookup(spec, kOddKeys), first);
  EXPECT_EQ(store.Stats(spec).rows, 0U);
  EXPECT_TRUE(store.Scan(spec, 10, true).empty());
  store.Update(spec, std::span(kOddKeys).first(2), std::vector<float>(8, 0.0F), 1);
  const auto before = store.Scan(spec, 10, true);
  EXPECT_EQ(store.Lookup(spec, kOddKeys), first) << "a gradient of zero moves no weight";
  EXPECT_EQ(store.Scan(spec, 10, true), before);
  EXPECT_EQ(before.size(), 2U);
}

TEST_P(TableContract, RepeatedKeysAreSummedInBatchOrder) {
  // With ((1e8 + 1) - 1e8) the order of a sum shows: 0 in this order, 1 in others.
  const TableSpec spec = ContractSpec("t", 1, OptimizerKind::kSgd, InitializerKind::kZero);
  store.Create(spec);
  const std::vector<Key> keys = {7, 3, 7, 3, 7, 9};
  const std::vector<float> gradients = {1e8F, 1e8F, 1.0F, -1e8F, -1e8F, 4.0F};
  store.Update(spec, keys, gradients, 1);
  const float lr = spec.optimizer.learning_rate;
  EXPECT_EQ(store.Lookup(spec, std::vector<Key>{7, 3, 9}),
            (std::vector<float>{0.0F, 0.0F, -lr * 4.0F}));
  store.Update(spec, keys, std::vector<float>{1e8F, 1e8F, -1e8F, -1e8F, 1.0F, 0.0F}, 2);
  EXPECT_EQ(store.Lookup(spec, std::vector<Key>{7, 3, 9, 7}),
            (std::vector<float>{-lr, 0.0F, -lr * 4.0F, -lr}));
  const auto rows = store.Scan(spec, 2, true);
  EXPECT_EQ(rows.at(7).frequency, 2U) << "pushes, not occurrences";
  EXPECT_EQ(rows.at(7).last_step, 2U);
}

TEST_P(TableContract, TheRuleRunsOnceForARepeatedKey) {
  for (const OptimizerKind kind : kOptimizerKinds) {
    const auto name = std::string(OptimizerKindName(kind));
    const TableSpec many = ContractSpec(name + "-many", 2, kind, InitializerKind::kUniform);
    TableSpec one = ContractSpec(name + "-one", 2, kind, InitializerKind::kUniform);
    store.Create(many);
    store.Create(one);
    store.Update(many, std::vector<Key>{5, 5, 5}, std::vector<float>{1, 2, 1, 2, 2, 4}, 1);
    store.Update(one, std::vector<Key>{5}, std::vector<float>{4, 8}, 1);
    EXPECT_EQ(store.Scan(many, 10, true), store.Scan(one, 10, true)) << name;
  }
}

TEST_P(TableContract, EveryDimensionAndOptimizer) {
  for (const OptimizerKind kind : kOptimizerKinds) {
    for (const uint32_t dim : {1U, 2U, 3U, 5U, 8U, 16U, 33U, 128U, 1023U, 1024U}) {
      const std::string name = std::string(OptimizerKindName(kind)) + std::to_string(dim);
      const TableSpec plain = ContractSpec(name, dim, kind, InitializerKind::kNormal);
      for (const TableSpec& spec : {plain, ShapedSpec(plain)}) {
        for (StoreUser* user : {&store, &model}) {
          user->Create(spec);
          for (const uint64_t step : {1, 2, 40}) {
            user->Update(spec, kOddKeys, Ramp(kOddKeys.size() * dim, 0.001F), step);
          }
        }
        EXPECT_EQ(store.Scan(spec, 4, true), model.Scan(spec, 4, true)) << spec.name;
        EXPECT_EQ(store.Lookup(spec, kOddKeys), model.Lookup(spec, kOddKeys)) << spec.name;
      }
    }
  }
}

TEST_P(TableContract, EmptyBatchesAreFine) {
  const TableSpec spec = ContractSpec("t", 4, OptimizerKind::kAdam, InitializerKind::kZero);
  store.Create(spec);
  EXPECT_TRUE(store.Lookup(spec, {}).empty());
  store.Update(spec, {}, {}, 1);
  store.Assign(spec, {}, {});
  store.Erase(spec, {});
  EXPECT_EQ(store.Stats(spec).rows, 0U);
  for (const OpKind kind : {OpKind::kLookup, OpKind::kUpdate, OpKind::kFlush, OpKind::kErase}) {
    Operation nothing;
    nothing.kind = kind;
    const Status status = store.Run(std::move(nothing));
    EXPECT_TRUE(status.ok()) << OpKindName(kind) << ": " << status.ToString();
  }
}

TEST_P(TableContract, AssignSetsValuesAndRestartsTheRow) {
  for (const OptimizerKind kind : kOptimizerKinds) {
    const TableSpec spec =
        ContractSpec(std::string(OptimizerKindName(kind)), 2, kind, InitializerKind::kNormal);
    for (StoreUser* user : {&store, &model}) {
      user->Create(spec);
      user->Update(spec, kOddKeys, Ramp(kOddKeys.size() * 2, 0.1F), 3);
      user->Assign(spec, std::vector<Key>{1, 99, 1}, std::vector<float>{1, 2, 3, 4, 5, 6});
    }
    EXPECT_EQ(store.Lookup(spec, std::vector<Key>{1, 99}), (std::vector<float>{5, 6, 3, 4}));
    const auto rows = store.Scan(spec, 100, true);
    EXPECT_EQ(rows.at(1).frequency, 0U);
    EXPECT_EQ(rows.at(1).last_step, 0U);
    EXPECT_EQ(rows, model.Scan(spec, 100, true));
    for (StoreUser* user : {&store, &model}) {
      user->Update(spec, std::vector<Key>{1}, std::vector<float>{1, -1}, 4);
    }
    EXPECT_EQ(store.Scan(spec, 100, true), model.Scan(spec, 100, true));
  }
}

TEST_P(TableContract, EraseBringsTheInitialValueBack) {
  const TableSpec spec = ContractSpec("t", 3, OptimizerKind::kAdam, InitializerKind::kUniform);
  store.Create(spec);
  const std::vector<float> initial = store.Lookup(spec, kOddKeys);
  store.Update(spec, kOddKeys, Ramp(kOddKeys.size() * 3, 1.0F), 1);
  EXPECT_NE(store.Lookup(spec, kOddKeys), initial);
  const auto trained = store.Scan(spec, 3, true);
  std::vector<Key> twice = kOddKeys;
  twice.push_back(kOddKeys[0]);
  twice.push_back(424242);  // missing: no error
  const std::optional<uint64_t> erased = store.Erase(spec, twice);
  if (GetParam().in_process) {
    ASSERT_TRUE(erased.has_value());
  }
  EXPECT_EQ(erased.value_or(kOddKeys.size()), kOddKeys.size());
  EXPECT_EQ(store.Stats(spec).rows, 0U);
  EXPECT_EQ(store.Lookup(spec, kOddKeys), initial);
  store.Update(spec, kOddKeys, Ramp(kOddKeys.size() * 3, 1.0F), 1);
  EXPECT_EQ(store.Scan(spec, 3, true), trained) << "nothing of the erased rows is left";
}

TEST_P(TableContract, GradientsThatAreNotNumbersLeaveTheirRowAlone) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kMax = std::numeric_limits<float>::max();
  const TableSpec spec = ContractSpec("t", 2, OptimizerKind::kAdaGrad, InitializerKind::kNormal);
  store.Create(spec);
  store.Update(spec, std::vector<Key>{1, 2}, std::vector<float>{1, 1, 1, 1}, 1);
  const auto before = store.Scan(spec, 10, true);
  // 1: NaN. 2: an infinity in one of its occurrences. 3: a sum beyond the largest float, and new.
  store.Update(spec, std::vector<Key>{1, 2, 2, 3, 3, 4},
               std::vector<float>{1, kNan, -INFINITY, 0, 1, 1, kMax, 0, kMax, 0, 1, 1}, 2);
  auto after = store.Scan(spec, 10, true);
  EXPECT_EQ(after.erase(4), 1U) << "the others of the batch are applied";
  EXPECT_EQ(after, before);
  const TableStats stats = store.Stats(spec);
  EXPECT_EQ(stats.rejected, 3U);
  EXPECT_EQ(stats.updates, 8U);
}

TEST_P(TableContract, SeveralTablesInOneOperation) {
  const TableSpec wide = ContractSpec("wide", 8, OptimizerKind::kAdam, InitializerKind::kNormal);
  const TableSpec bias = ContractSpec("bias", 1, OptimizerKind::kSgd, InitializerKind::kZero);
  const std::vector<float> wide_gradients = Ramp(kOddKeys.size() * 8, 0.01F);
  const std::vector<float> bias_gradients = Ramp(3, 1.0F);
  for (StoreUser* user : {&store, &model}) {
    user->Create(wide);
    user->Create(bias);
    Operation update;
    update.kind = OpKind::kUpdate;
    update.parts = {
        {.table = wide.id(), .keys = kOddKeys, .in = wide_gradients},
        {.table = bias.id(), .keys = std::span(kOddKeys).first(3), .in = bias_gradients}};
    const Status status = user->Run(std::move(update));
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  std::vector<float> wide_rows(kOddKeys.size() * 8), bias_rows(kOddKeys.size());
  Operation lookup;
  lookup.kind = OpKind::kLookup;
  lookup.parts = {{.table = bias.id(), .keys = kOddKeys, .out = bias_rows},
                  {.table = wide.id(), .keys = kOddKeys, .out = wide_rows}};
  const Status status = store.Run(std::move(lookup));
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(wide_rows, model.Lookup(wide, kOddKeys));
  EXPECT_EQ(bias_rows, model.Lookup(bias, kOddKeys));
}

TEST_P(TableContract, ScanBringsEachRowOnce) {
  const TableSpec spec = ContractSpec("t", 2, OptimizerKind::kAdaGrad, InitializerKind::kUniform);
  std::vector<Key> keys(1000);
  std::iota(keys.begin(), keys.end(), UINT64_MAX - 499);  // around the end of the key space
  for (StoreUser* user : {&store, &model}) {
    user->Create(spec);
    user->Update(spec, keys, Ramp(2000, 0.01F), 1);
  }
  for (const uint32_t rows_max : {1U, 7U, 1000U, 100'000U}) {
    for (const bool with_state : {false, true}) {
      EXPECT_EQ(store.Scan(spec, rows_max, with_state), model.Scan(spec, 4096, with_state));
    }
  }
}

TEST_P(TableContract, ScanBringsEachRowOnceWhileTheTableChanges) {
  const TableSpec spec = ContractSpec("t", 1, OptimizerKind::kSgd, InitializerKind::kZero);
  store.Create(spec);
  std::vector<Key> stay(3000), fresh(20'000), erased(1000);
  std::iota(stay.begin(), stay.end(), Key{0});
  std::iota(fresh.begin(), fresh.end(), Key{1} << 40);
  std::iota(erased.begin(), erased.end(), Key{1} << 50);
  store.Update(spec, stay, std::vector<float>(stay.size(), 1.0F), 1);
  store.Update(spec, erased, std::vector<float>(erased.size(), 1.0F), 1);
  std::multiset<Key> seen;
  ScanPage page;
  page.rows_max = 100;
  for (size_t n = 0; !page.done; ++n) {
    ASSERT_TRUE(store.Run(OpKind::kScan, {.table = spec.id(), .page = &page}).ok());
    seen.insert(page.keys.begin(), page.keys.end());
    if (n >= 10) continue;
    const auto some = std::span(fresh).subspan(n * 2000, 2000);
    store.Update(spec, some, std::vector<float>(2000, 1.0F), 2 + n);
    store.Erase(spec, std::span(erased).subspan(n * 100, 100));
  }
  for (const Key key : stay) ASSERT_EQ(seen.count(key), 1U) << key;
  for (const Key key : seen) ASSERT_EQ(seen.count(key), 1U) << key;
}

TEST_P(TableContract, StatsCount) {
  const TableSpec spec = ContractSpec("t", 4, OptimizerKind::kSgd, InitializerKind::kZero);
  store.Create(spec);
  store.Update(spec, std::vector<Key>{1, 2, 2}, std::vector<float>(12, 1.0F), 1);
  store.Lookup(spec, std::vector<Key>{1, 1, 2, 3});
  const TableStats stats = store.Stats(spec);
  EXPECT_EQ(stats.rows, 2U);
  EXPECT_EQ(stats.updates, 3U);
  EXPECT_EQ(stats.lookups, 4U);
  EXPECT_EQ(stats.lookup_hits, 3U);
  EXPECT_EQ(stats.rejected, 0U);
  EXPECT_GE(stats.bytes, 2 * SchemaOf(spec).row_bytes());
  if (GetParam().in_process) {
    EXPECT_EQ(stats.steps, 1U);
  }
}

TEST_P(TableContract, FlushAndPrefetchAreAccepted) {
  const TableSpec spec = ContractSpec("t", 4, OptimizerKind::kSgd, InitializerKind::kZero);
  store.Create(spec);
  EXPECT_TRUE(store.Run(OpKind::kPrefetch, {.table = spec.id(), .keys = kOddKeys}).ok());
  EXPECT_TRUE(store.Run(OpKind::kFlush, {.table = spec.id()}).ok());
  EXPECT_EQ(store.Stats(spec).rows, 0U);
}

}  // namespace
}  // namespace strata
