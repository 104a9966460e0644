#include "storage/memory/host_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "base/thread/work_pool.h"
#include "kernels/core/initializer.h"
#include "storage/memory/host_store.h"
#include "tests/support/map_table.h"
#include "tests/support/ones.h"

namespace strata {
namespace {

TableSpec Spec(uint32_t dim, OptimizerKind kind = OptimizerKind::kSgd) {
  TableSpec spec;
  spec.name = "t";
  spec.dim = dim;
  spec.optimizer.kind = kind;
  spec.initializer = {InitializerKind::kUniform, 1.0F};
  return spec;
}

ScanPage ScanAll(const LocalTable& table) {
  ScanPage page;
  page.rows_max = UINT32_MAX;
  page.with_state = true;
  EXPECT_TRUE(table.Scan(page).ok());
  return page;
}

// Batches of several pieces, with keys that are new, that come twice, and whose gradients are no
// numbers; a snapshot is under way for some of them.
TEST(HostTableTest, ThreadsChangeNothing) {
  const auto pool = WorkPool::Start("test", 2);
  ASSERT_TRUE(pool.ok());
  for (const ElementType type : {ElementType::kFp32, ElementType::kBf16}) {
    TableSpec spec = Spec(3, OptimizerKind::kAdaGrad);
    spec.value_type = spec.state_type = type;
    HostTable alone(spec);
    HostTable helped(spec, nullptr, RowOrder::kAsTheyCome, pool->get());
    std::mt19937_64 random(4);
    for (uint64_t step = 1; step <= 6; ++step) {
      std::vector<Key> keys(5000);
      for (Key& key : keys) key = random() % (2000 * step);
      std::vector<float> gradients(keys.size() * spec.dim);
      for (float& number : gradients) number = static_cast<float>(random() % 100) / 64;
      gradients[3000] = gradients[9000] = NAN;
      std::vector<float> rows(gradients.size());
      std::vector<float> other_rows(gradients.size());
      const GradientPart part{keys, gradients};
      for (HostTable* const table : {&alone, &helped}) {
        if (step == 4) table->BeginSnapshot(0);
        ASSERT_TRUE(table->PrepareUpdate({&part, 1}).ok());
        table->CommitUpdate(step);
        ASSERT_TRUE(table->Lookup(keys, table == &alone ? rows : other_rows).ok());
      }
      ASSERT_EQ(rows, other_rows);
    }
    const ScanPage a = ScanAll(alone);
    const ScanPage b = ScanAll(helped);
    EXPECT_EQ(a.keys, b.keys);
    EXPECT_EQ(a.rows, b.rows);
    ASSERT_EQ(a.counters.size(), b.counters.size());
    EXPECT_EQ(memcmp(a.counters.data(), b.counters.data(), a.counters.size() * sizeof(RowCounters)),
              0);
    EXPECT_EQ(alone.Stats().rejected, helped.Stats().rejected);
    EXPECT_EQ(alone.Stats().lookup_hits, helped.Stats().lookup_hits);
  }
}

// Index and rows together, at the row counts where the index has just been made and just been
// grown.
TEST(HostTableTest, MemoryStaysCloseToTheRows) {
  for (const auto& [dim, kind] :
       {std::pair{16U, OptimizerKind::kSgd}, std::pair{16U, OptimizerKind::kAdam},
        std::pair{128U, OptimizerKind::kAdaGrad}}) {
    HostTable table(Spec(dim, kind));
    double worst = 0.0;
    for (Key key = 0; key < 250'000; key += 2000) {
      ASSERT_TRUE(Push(table, Range(key, 2000)).ok());
      const TableStats stats = table.Stats();
      const double raw =
          static_cast<double>(stats.rows * (SchemaOf(table.spec()).row_bytes() + sizeof(Key)));
      if (stats.rows >= 50'000) worst = std::max(worst, static_cast<double>(stats.bytes) / raw);
    }
    // While the index is being swept, two arrays are held; that is the worst moment.
    EXPECT_LT(worst, dim == 16U && kind == OptimizerKind::kSgd ? 1.45 : 1.25);
  }
}

TEST(HostTableTest, NarrowTypesTakeHalfTheMemory) {
  TableSpec wide = Spec(64, OptimizerKind::kAdam);
  TableSpec narrow = wide;
  narrow.value_type = ElementType::kBf16;
  narrow.state_type = ElementType::kFp16;
  uint64_t bytes[2];
  for (const bool is_narrow : {false, true}) {
    HostTable table(is_narrow ? narrow : wide);
    ASSERT_TRUE(Push(table, Range(0, 50'000)).ok());
    bytes[is_narrow ? 1 : 0] = table.Stats().bytes;
  }
  EXPECT_LT(static_cast<double>(bytes[1]), 0.55 * static_cast<double>(bytes[0]));
}

// AdaGrad's sums near 1 in fp16, where neighbours are 2^-10 apart: each square adds a 64th of that,
// which rounding to the nearest would lose. The reference is the rule in double.
TEST(HostTableTest, NarrowStateFollowsTheReferenceOnAverage) {
  constexpr size_t kRows = 2'000;
  constexpr uint64_t kSteps = 128;
  TableSpec spec = Spec(4, OptimizerKind::kAdaGrad);
  spec.optimizer.initial_accumulator = 1.0F;
  spec.state_type = ElementType::kFp16;
  HostTable table(spec);
  const std::vector<Key> keys = Range(0, kRows);
  const std::vector<float> gradients(4 * kRows, 0x1p-8F);
  const GradientPart part{keys, gradients};
  for (uint64_t step = 1; step <= kSteps; ++step) {
    ASSERT_TRUE(table.ApplyGradients({&part, 1}, step).ok());
  }
  double accumulated = 0;
  double moved = 0;
  const ScanPage page = ScanAll(table);
  for (size_t i = 0; i < page.keys.size(); ++i) {
    float initial[4];
    InitialRow(spec.initializer, spec.seed, page.keys[i], initial);
    for (size_t e = 0; e < 4; ++e) {
      moved += double{initial[e]} - page.rows[8 * i + e];
      accumulated += double{page.rows[8 * i + 4 + e]} - 1.0;
    }
  }
  double reference = 0;
  for (uint64_t step = 1; step <= kSteps; ++step) {
    const double sum = 1.0 + static_cast<double>(step) * 0x1p-16;
    reference += spec.optimizer.learning_rate * 0x1p-8 / (std::sqrt(sum) + spec.optimizer.epsilon);
  }
  constexpr double kElements = 4.0 * kRows;
  EXPECT_NEAR(accumulated / kElements, kSteps * 0x1p-16, 0.05 * kSteps * 0x1p-16);
  EXPECT_NEAR(moved / kElements, reference, 1e-3 * reference);
}

TEST(HostTableTest, ABatchMovesNoMoreThanItsShareOfTheIndex) {
  HostTable table(Spec(1));
  std::mt19937_64 random(1);
  for (int batch = 0; batch < 300; ++batch) {
    std::vector<Key> keys(1000);
    for (Key& key : keys) key = random();
    const uint64_t before = table.index_words_swept();
    ASSERT_TRUE(Push(table, keys).ok());
    // 20 slots a key, and the ends of runs behind each stretch.
    EXPECT_LE(table.index_words_swept() - before, 25 * keys.size() + 1000) << batch;
  }
  EXPECT_GT(table.index_words_swept(), 300'000U);
}

// Sixteen times the table in one batch: the index grows to fit at once, and nothing is lost.
TEST(HostTableTest, ABatchFarLargerThanTheTable) {
  HostTable table(Spec(1));
  MapTable model(Spec(1));
  for (LocalTable* each : {static_cast<LocalTable*>(&table), static_cast<LocalTable*>(&model)}) {
    ASSERT_TRUE(Push(*each, Range(0, 800)).ok());
    ASSERT_TRUE(Push(*each, Range(800, 100)).ok());  // the sweep has begun
    ASSERT_TRUE(Push(*each, Range(500, 15'000)).ok());
  }
  const std::vector<Key> keys = Range(0, 20'000);
  std::vector<float> found(keys.size()), expected(keys.size());
  ASSERT_TRUE(table.Lookup(keys, found).ok());
  ASSERT_TRUE(model.Lookup(keys, expected).ok());
  EXPECT_EQ(found, expected);
}

TEST(HostTableTest, SynchronousStepsEqualTheModel) {
  std::mt19937_64 random(2);
  for (const OptimizerKind kind :
       {OptimizerKind::kSgd, OptimizerKind::kAdaGrad, OptimizerKind::kAdam}) {
    HostTable table(Spec(5, kind));
    MapTable model(Spec(5, kind));
    for (uint64_t step = 1; step <= 200; ++step) {
      std::vector<std::vector<Key>> keys(random() % 4 + 1);
      std::vector<std::vector<float>> gradients(keys.size());
      std::vector<GradientPart> parts;
      for (size_t rank = 0; rank < keys.size(); ++rank) {
        keys[rank].resize(random() % 50);
        for (Key& key : keys[rank]) key = random() % 300;
        gradients[rank].resize(keys[rank].size() * 5);
        for (float& g : gradients[rank]) g = static_cast<float>(random() % 2001) * 1e-3F - 1.0F;
        parts.push_back({keys[rank], gradients[rank]});
      }
      ASSERT_TRUE(table.ApplyGradients(parts, step).ok());
      ASSERT_TRUE(model.ApplyGradients(parts, step).ok());
    }
    const std::vector<Key> all = Range(0, 400);
    std::vector<float> found(all.size() * 5), expected(all.size() * 5);
    ASSERT_TRUE(table.Lookup(all, found).ok());
    ASSERT_TRUE(model.Lookup(all, expected).ok());
    EXPECT_EQ(found, expected);
    EXPECT_EQ(table.Stats().steps, 200U);
    EXPECT_EQ(table.Stats().updates, model.Stats().updates);
    const ScanPage host = ScanAll(table);
    const ScanPage map = ScanAll(model);
    std::map<Key, uint32_t> frequencies;
    for (size_t i = 0; i < map.keys.size(); ++i)
      frequencies[map.keys[i]] = map.counters[i].frequency;
    for (size_t i = 0; i < host.keys.size(); ++i) {
      EXPECT_EQ(host.counters[i].frequency, frequencies.at(host.keys[i]));
    }
  }
}

TEST(HostTableTest, APrepareWithoutCommitChangesNothing) {
  HostTable table(Spec(2, OptimizerKind::kAdam));
  ASSERT_TRUE(Push(table, Range(0, 3)).ok());
  const ScanPage before = ScanAll(table);
  const std::vector<Key> keys = Range(2, 5);
  const std::vector<float> rows(10, 2.0F);
  const GradientPart part{keys, rows};
  ASSERT_TRUE(table.PrepareUpdate({&part, 1}).ok());
  ASSERT_TRUE(table.PrepareAssign(keys, rows).ok());
  const ScanPage after = ScanAll(table);
  EXPECT_EQ(after.keys, before.keys);
  EXPECT_EQ(after.rows, before.rows);
  EXPECT_EQ(table.Stats().rows, 3U);
}

class BudgetTest : public testing::Test {
 protected:
  Status Run(OpKind kind, std::vector<TablePart> parts) {
    Operation operation;
    operation.kind = kind;
    operation.parts = std::move(parts);
    return SubmitAndWait(*store_, std::move(operation)).status;
  }
  uint64_t Rows(const TableSpec& spec) {
    TableStats stats;
    EXPECT_TRUE(Run(OpKind::kStats, {{.table = spec.id(), .stats = &stats}}).ok());
    return stats.rows;
  }

  std::unique_ptr<TableStore> store_ = MakeHostStore({.memory_bytes_max = 4 << 20});
};

TEST_F(BudgetTest, RowsBeyondItAreRefusedWholeAndAllElseGoesOn) {
  const TableSpec spec = Spec(16);
  ASSERT_TRUE(store_->CreateTable(spec).ok());
  uint64_t rows = 0;
  Status status;
  std::vector<float> gradients(1000 * 16, 1.0F);
  while (true) {
    const std::vector<Key> keys = Range(rows, 1000);
    status = Run(OpKind::kUpdate, {{.table = spec.id(), .keys = keys, .in = gradients}});
    if (!status.ok()) break;
    rows += 1000;
    ASSERT_LT(rows, 1'000'000U) << "the budget is not kept";
  }
  EXPECT_EQ(status.code(), StatusCode::kRefused);
  EXPECT_THAT(status.message(), testing::HasSubstr("table 't'"));
  EXPECT_GT(rows, 15'000U);
  EXPECT_EQ(Rows(spec), rows) << "nothing of the refused batch was applied";
  // Rows 999 of which exist and one that does not fit: refused whole, the 999 too.
  std::vector<float> before(16), after(16);
  const std::vector<Key> first = {0};
  ASSERT_TRUE(Run(OpKind::kLookup, {{.table = spec.id(), .keys = first, .out = before}}).ok());
  std::vector<Key> mixed = Range(0, 999);
  std::vector<float> values(1'000'000U * 16, 3.0F);
  std::vector<Key> many = Range(0, 1'000'000);
  EXPECT_EQ(Run(OpKind::kAssign, {{.table = spec.id(), .keys = many, .in = values}}).code(),
            StatusCode::kRefused);
  ASSERT_TRUE(Run(OpKind::kLookup, {{.table = spec.id(), .keys = first, .out = after}}).ok());
  EXPECT_EQ(after, before);
  // Rows that exist are updated, and erased ones make room.
  EXPECT_TRUE(Run(OpKind::kUpdate,
                  {{.table = spec.id(), .keys = mixed, .in = std::span(gradients).first(999 * 16)}})
                  .ok());
  const std::vector<Key> gone = Range(0, 1000);
  EXPECT_TRUE(Run(OpKind::kErase, {{.table = spec.id(), .keys = gone}}).ok());
  const std::vector<Key> fresh = Range(rows, 1000);
  EXPECT_TRUE(Run(OpKind::kUpdate, {{.table = spec.id(), .keys = fresh, .in = gradients}}).ok());
}

TEST_F(BudgetTest, AnOperationOverTwoTablesIsAppliedToBothOrToNone) {
  TableSpec small = Spec(1), large = Spec(1024);
  small.name = "small";
  large.name = "large";
  ASSERT_TRUE(store_->CreateTable(small).ok());
  ASSERT_TRUE(store_->CreateTable(large).ok());
  const std::vector<Key> few = Range(0, 10), many = Range(0, 2000);
  const std::vector<float> few_rows(10, 1.0F), many_rows(2000 * 1024, 1.0F);
  for (const OpKind kind : {OpKind::kUpdate, OpKind::kAssign}) {
    EXPECT_EQ(Run(kind, {{.table = small.id(), .keys = few, .in = few_rows},
                         {.table = large.id(), .keys = many, .in = many_rows}})
                  .code(),
              StatusCode::kRefused);
    EXPECT_EQ(Rows(small), 0U);
    EXPECT_EQ(Rows(large), 0U);
  }
}

TEST_F(BudgetTest, ADroppedTableGivesItsMemoryBack) {
  const TableSpec spec = Spec(16);
  const std::vector<Key> keys = Range(0, 20'000);
  const std::vector<float> rows(20'000 * 16, 1.0F);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(store_->CreateTable(spec).ok());
    EXPECT_TRUE(Run(OpKind::kAssign, {{.table = spec.id(), .keys = keys, .in = rows}}).ok());
    ASSERT_TRUE(store_->DropTable("t").ok());
  }
}

}  // namespace
}  // namespace strata
