// Long runs against the model.
#include <limits>
#include <random>
#include <tuple>
#include <utility>

#include "tests/contract/table_contract.h"

namespace strata {
namespace {

// Draws operations whose keys repeat within and between batches.
class Draw {
 public:
  Draw(uint64_t seed, uint32_t dim) : random_(seed), dim_(dim) {
    universe_ = {0, 1, Key{1} << 63, UINT64_MAX};
    while (universe_.size() < 600) universe_.push_back(random_());
  }

  uint64_t Below(uint64_t n) { return random_() % n; }

  // 0 to 63 keys; low places of the universe come more often.
  std::vector<Key> Keys() {
    std::vector<Key> keys(Below(64));
    for (Key& key : keys) key = universe_[Below(1 + Below(universe_.size()))];
    return keys;
  }

  std::vector<float> Floats(size_t keys) {
    std::vector<float> values(keys * dim_);
    for (float& value : values) {
      value = static_cast<float>(static_cast<int64_t>(Below(2001)) - 1000) * 1e-3F;
    }
    return values;
  }

 private:
  std::mt19937_64 random_;
  const uint32_t dim_;
  std::vector<Key> universe_;
};

void RandomRun(StoreUser& store, StoreUser& model, const TableSpec& spec, uint32_t steps,
               bool in_process) {
  for (StoreUser* user : {&store, &model}) user->Create(spec);
  Draw draw(spec.id() == TableId{} ? 1 : static_cast<uint64_t>(spec.id()), spec.dim);
  uint64_t time = 1;
  for (uint32_t i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
    const std::vector<Key> keys = draw.Keys();
    const uint64_t choice = draw.Below(100);
    if (choice < 40) {
      ASSERT_EQ(BitsOf(store.Lookup(spec, keys)), BitsOf(model.Lookup(spec, keys))) << "step " << i;
    } else if (choice < 80) {
      std::vector<float> gradients = draw.Floats(keys.size());
      if (!gradients.empty() && draw.Below(20) == 0) {
        gradients[draw.Below(gradients.size())] = std::numeric_limits<float>::quiet_NaN();
      }
      if (draw.Below(2) == 0) {
        for (StoreUser* user : {&store, &model}) user->Update(spec, keys, gradients, time);
      } else {
        // The model's two operations are what the one has to do.
        const std::vector<Key> then = draw.Keys();
        const auto rows = store.UpdateLookup(spec, keys, gradients, then, time);
        model.Update(spec, keys, gradients, time);
        ASSERT_EQ(BitsOf(rows), BitsOf(model.Lookup(spec, then))) << "step " << i;
      }
      ++time;
    } else if (choice < 89) {
      const std::vector<float> values = draw.Floats(keys.size());
      for (StoreUser* user : {&store, &model}) user->Assign(spec, keys, values);
    } else if (choice < 98) {
      const std::optional<uint64_t> erased = model.Erase(spec, keys);
      ASSERT_TRUE(erased.has_value());
      ASSERT_EQ(store.Erase(spec, keys).value_or(*erased), *erased) << "step " << i;
    } else {
      ASSERT_EQ(store.Scan(spec, 97, true), model.Scan(spec, 97, true)) << "step " << i;
    }
  }
  EXPECT_EQ(store.Scan(spec, 100, true), model.Scan(spec, 100, true));
  const TableStats found = store.Stats(spec);
  const TableStats expected = model.Stats(spec);
  EXPECT_EQ(found.rows, expected.rows);
  EXPECT_EQ(found.lookups, expected.lookups);
  EXPECT_EQ(found.lookup_hits, expected.lookup_hits);
  EXPECT_EQ(found.updates, expected.updates);
  EXPECT_EQ(found.rejected, expected.rejected);
  if (in_process) {
    EXPECT_EQ(found.steps, expected.steps);
  }
}

TEST_P(TableContract, RandomRunsEqualTheModelToTheBit) {
  uint32_t dim = 1;
  for (size_t i = 0; i < std::size(kOptimizerKinds); ++i) {
    const TableSpec plain =
        ContractSpec(std::string(OptimizerKindName(kOptimizerKinds[i])), dim, kOptimizerKinds[i],
                     kInitializerKinds[i % std::size(kInitializerKinds)]);
    for (const TableSpec& spec : {plain, ShapedSpec(plain)}) {
      SCOPED_TRACE(spec.name);
      RandomRun(store, model, spec, GetParam().random_steps / 2, GetParam().in_process);
      if (HasFailure()) return;
    }
    dim = dim % 9 + 2;
  }
}

TEST_P(TableContract, RandomRunsOfNarrowTypesEqualTheModelToTheBit) {
  constexpr std::pair<ElementType, ElementType> kTypes[] = {
      {ElementType::kBf16, ElementType::kFp32},
      {ElementType::kFp16, ElementType::kFp16},
      {ElementType::kFp16, ElementType::kBf16}};
  constexpr uint32_t kDims[] = {1, 2, 3, 4, 8, 16, 50, 64, 200};
  for (size_t i = 0; i < std::size(kOptimizerKinds); ++i) {
    TableSpec spec =
        ContractSpec(std::string(OptimizerKindName(kOptimizerKinds[i])),
                     kDims[i % std::size(kDims)], kOptimizerKinds[i], kInitializerKinds[i % 3]);
    const std::string name = spec.name;
    for (const auto& [value_type, state_type] :
         {kTypes[i % std::size(kTypes)], std::pair{ElementType::kFp32, ElementType::kFp16}}) {
      spec.value_type = value_type;
      spec.state_type = state_type;
      spec.name = name + "." + std::string(ElementTypeName(value_type)) + "." +
                  std::string(ElementTypeName(state_type));
      SCOPED_TRACE(spec.name);
      RandomRun(store, model, spec, GetParam().random_steps / 8, GetParam().in_process);
      if (HasFailure()) return;
    }
  }
}

// The value of a row of this test's table is -lr x its gradient, so no model has to hold it.
TEST_P(TableContract, GrowsFromOneRowToManyWithoutLosingOne) {
  const TableSpec spec = ContractSpec("t", 2, OptimizerKind::kSgd, InitializerKind::kZero);
  store.Create(spec);
  const float lr = spec.optimizer.learning_rate;
  const auto gradient = [](uint64_t n) { return static_cast<float>(n % 1000) + 1.0F; };
  const auto key = [](uint64_t n) { return n % 2 == 0 ? n : n * 0x9e3779b97f4a7c15ULL; };
  const auto expect_rows = [&](uint64_t first, uint64_t count) {
    std::vector<Key> keys(count);
    for (uint64_t i = 0; i < count; ++i) keys[i] = key(first + i);
    const std::vector<float> rows = store.Lookup(spec, keys);
    for (uint64_t i = 0; i < count; ++i) {
      ASSERT_EQ(rows[2 * i], 0.0F - lr * gradient(first + i)) << first + i;
      ASSERT_EQ(rows[2 * i + 1], rows[2 * i]) << first + i;
    }
  };
  const uint64_t rows_max = GetParam().growth_rows;
  uint64_t rows = 0;
  for (uint64_t batch = 1; rows < rows_max && !HasFailure(); ++batch) {
    const uint64_t count = std::min({uint64_t{4096}, batch, rows_max - rows});
    std::vector<Key> keys(count);
    std::vector<float> gradients(2 * count);
    for (uint64_t i = 0; i < count; ++i) {
      keys[i] = key(rows + i);
      gradients[2 * i] = gradients[2 * i + 1] = gradient(rows + i);
    }
    store.Update(spec, keys, gradients, batch);
    rows += count;
    expect_rows(rows - count, count);
    expect_rows(batch * 7919 % rows, std::min<uint64_t>(10, rows - batch * 7919 % rows));
  }
  expect_rows(0, rows_max);
  const TableStats stats = store.Stats(spec);
  EXPECT_EQ(stats.rows, rows_max);
  std::vector<Key> missing(1000);
  for (uint64_t i = 0; i < missing.size(); ++i) missing[i] = key(rows_max + i);
  EXPECT_EQ(store.Lookup(spec, missing), std::vector<float>(2000, 0.0F));
}

}  // namespace
}  // namespace strata
