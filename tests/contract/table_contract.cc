// What the suite's tests are written in.
#include "tests/contract/table_contract.h"

#include <bit>

#include "tests/support/map_table.h"

namespace strata {

std::vector<uint32_t> BitsOf(std::span<const float> values) {
  std::vector<uint32_t> bits;
  bits.reserve(values.size());
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

TableSpec ContractSpec(const std::string& name, uint32_t dim, OptimizerKind optimizer,
                       InitializerKind initializer) {
  TableSpec spec;
  spec.name = name;
  spec.dim = dim;
  spec.optimizer.kind = optimizer;
  spec.optimizer.learning_rate = 0.05F;
  const bool accumulates =
      optimizer == OptimizerKind::kAdaGrad || optimizer == OptimizerKind::kRowwiseAdaGrad;
  spec.optimizer.initial_accumulator = accumulates ? 0.1F : 0.0F;
  if (optimizer == OptimizerKind::kFtrl) {
    spec.optimizer.l1 = 0.1F;
    spec.optimizer.l2 = 0.2F;
    spec.optimizer.beta = 0.5F;
  }
  spec.initializer = {initializer, 0.5F};
  spec.seed = 20;
  return spec;
}

TableSpec ShapedSpec(TableSpec spec) {
  spec.name += "-shaped";
  spec.optimizer.clip_value = 0.8F;
  spec.optimizer.clip_norm = 1.0F;
  spec.optimizer.weight_decay = 0.05F;
  spec.optimizer.warmup_steps = 10;
  spec.optimizer.decay_start = 20;
  spec.optimizer.decay_steps = 200;
  spec.optimizer.end_learning_rate = 0.001F;
  return spec;
}

Status StoreUser::Run(Operation operation) {
  return SubmitAndWait(store_, std::move(operation)).status;
}

Status StoreUser::Run(OpKind kind, const TablePart& part, uint64_t step) {
  Operation operation;
  operation.kind = kind;
  operation.parts = {part};
  operation.step = step;
  return Run(std::move(operation));
}

void StoreUser::Create(const TableSpec& spec) {
  const Status status = store_.CreateTable(spec);
  ASSERT_TRUE(status.ok()) << status.ToString();
}

std::vector<float> StoreUser::Lookup(const TableSpec& spec, std::span<const Key> keys) {
  // Not zero, so that an element the store forgets to write shows.
  std::vector<float> rows(keys.size() * spec.dim, -12345.0F);
  const Status status = Run(OpKind::kLookup, {.table = spec.id(), .keys = keys, .out = rows});
  EXPECT_TRUE(status.ok()) << status.ToString();
  return rows;
}

void StoreUser::Update(const TableSpec& spec, std::span<const Key> keys,
                       std::span<const float> gradients, uint64_t step) {
  const Status status =
      Run(OpKind::kUpdate, {.table = spec.id(), .keys = keys, .in = gradients}, step);
  ASSERT_TRUE(status.ok()) << status.ToString();
}

std::vector<float> StoreUser::UpdateLookup(const TableSpec& spec, std::span<const Key> keys,
                                           std::span<const float> gradients,
                                           std::span<const Key> then, uint64_t step) {
  std::vector<float> rows(then.size() * spec.dim);
  const TablePart part{
      .table = spec.id(), .keys = keys, .in = gradients, .out = rows, .then = then};
  const Status status = Run(OpKind::kUpdateLookup, part, step);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return rows;
}

void StoreUser::Assign(const TableSpec& spec, std::span<const Key> keys,
                       std::span<const float> values) {
  const Status status = Run(OpKind::kAssign, {.table = spec.id(), .keys = keys, .in = values});
  ASSERT_TRUE(status.ok()) << status.ToString();
}

std::optional<uint64_t> StoreUser::Erase(const TableSpec& spec, std::span<const Key> keys) {
  Operation operation;
  operation.kind = OpKind::kErase;
  operation.parts = {{.table = spec.id(), .keys = keys}};
  const Outcome outcome = SubmitAndWait(store_, std::move(operation));
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.ToString();
  return outcome.erased;
}

TableStats StoreUser::Stats(const TableSpec& spec) {
  TableStats stats;
  const Status status = Run(OpKind::kStats, {.table = spec.id(), .stats = &stats});
  EXPECT_TRUE(status.ok()) << status.ToString();
  return stats;
}

std::map<Key, RowImage> StoreUser::Scan(const TableSpec& spec, uint32_t rows_max, bool with_state) {
  std::map<Key, RowImage> rows;
  ScanPage page;
  page.rows_max = rows_max;
  page.with_state = with_state;
  const size_t width = spec.dim + (with_state ? SchemaOf(spec).state_width : 0);
  while (!page.done) {
    const Status status = Run(OpKind::kScan, {.table = spec.id(), .page = &page});
    EXPECT_TRUE(status.ok()) << status.ToString();
    if (!status.ok()) return rows;
    EXPECT_LE(page.keys.size(), rows_max);
    EXPECT_EQ(page.rows.size(), page.keys.size() * width);
    EXPECT_EQ(page.counters.size(), with_state ? page.keys.size() : 0);
    if (testing::Test::HasFailure()) return rows;
    for (size_t i = 0; i < page.keys.size(); ++i) {
      RowImage row;
      row.element_bits = BitsOf(std::span(page.rows).subspan(i * width, width));
      if (with_state) {
        row.frequency = page.counters[i].frequency;
        row.last_step = page.counters[i].last_step;
      }
      EXPECT_TRUE(rows.emplace(page.keys[i], std::move(row)).second) << page.keys[i];
    }
  }
  return rows;
}

TableContract::TableContract()
    : harness_(GetParam().make()),
      model_store_(MakeMapStore()),
      store(harness_->store()),
      model(*model_store_) {}

TableContract::~TableContract() = default;

}  // namespace strata
