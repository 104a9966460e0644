// A table on a GPU beside the std::map model: millions of keys in random batches, through growth
// from nothing to hundreds of thousands of rows, twice.
#include <climits>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "storage/gpu/device_pool.h"
#include "storage/gpu/hot/hot_table.h"
#include "storage/memory/host_table.h"
#include "storage/tiered/tiered_table.h"
#include "tests/contract/table_bits.h"
#include "tests/contract/table_contract.h"
#include "tests/storage/tier_parts.h"
#include "tests/support/device_memory.cuh"
#include "tests/support/map_table.h"

namespace strata {
namespace {

// Keys that are looked up, updated, assigned or erased.
constexpr uint64_t kOperations = kGpuIsEmulated ? 2'000'000 : 10'000'000;
constexpr uint64_t kKeys = 400'000;
constexpr size_t kBatchMax = 8'000;

class GpuRandom : public testing::Test {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }
  // What tables stand on.
  void Open(size_t pool_bytes, int gatherers) {
    auto pool = DevicePool::Make(0, pool_bytes);
    ASSERT_TRUE(pool.ok()) << pool.status().ToString();
    pool_ = std::move(*pool);
    auto workers = WorkPool::Start("gather", gatherers);
    ASSERT_TRUE(workers.ok()) << workers.status().ToString();
    workers_ = std::move(*workers);
  }

  std::unique_ptr<DevicePool> pool_;
  std::unique_ptr<WorkPool> workers_;
};

// Runs the operations that a seed draws on the table, and on the model if there is one, whose
// answers it compares; what the table holds then. Between them come hints.
TableBits RunOn(LocalTable& table, MapTable* model, uint32_t dim) {
  std::mt19937_64 random(42);
  uint64_t step = 1;
  for (uint64_t done = 0; done < kOperations && !testing::Test::HasFailure(); ++step) {
    // More keys the longer it runs; low ones come more often, and repeat within the batch.
    const uint64_t universe = 1'000 + kKeys * done / kOperations;
    std::vector<Key> keys(1 + random() % kBatchMax);
    for (Key& key : keys) key = Mix64(random() % (1 + random() % universe));
    done += keys.size();
    std::vector<float> floats(keys.size() * dim);
    for (float& value : floats)
      value = static_cast<float>(static_cast<int64_t>(random() % 2001) - 1000) * 1e-3F;
    if (random() % 8 == 0) {
      std::vector<Key> hinted(500);  // locked for a while: not too many
      for (size_t i = 0; i < hinted.size(); ++i) {
        hinted[i] = i % 2 == 0 ? keys[i % keys.size()] : Mix64(random() % universe);
      }
      table.Prefetch(hinted);
    }
    const uint64_t choice = random() % 10;
    if (choice < 4) {
      const size_t half = keys.size() / 2;
      const GradientPart parts[] = {
          {std::span(keys).first(half), std::span(floats).first(half * dim)},
          {std::span(keys).subspan(half), std::span(floats).subspan(half * dim)}};
      EXPECT_TRUE(table.ApplyGradients(parts, step).ok());
      if (model != nullptr) EXPECT_TRUE(model->ApplyGradients(parts, step).ok());
    } else if (choice < 6) {
      EXPECT_TRUE(table.Assign(keys, floats).ok());
      if (model != nullptr) EXPECT_TRUE(model->Assign(keys, floats).ok());
    } else if (choice < 7) {
      const Result<uint64_t> erased = table.Erase(keys);
      EXPECT_TRUE(erased.ok());
      if (model != nullptr) {
        EXPECT_EQ(model->Erase(keys).value(), erased.value());
      }
    } else {
      std::vector<float> expected(floats.size());
      EXPECT_TRUE(table.Lookup(keys, floats).ok());
      if (model == nullptr) continue;
      EXPECT_TRUE(model->Lookup(keys, expected).ok());
      EXPECT_EQ(BitsOf(floats), BitsOf(expected)) << "step " << step;
    }
  }
  return BitsOfTable(table);
}

TEST_F(GpuRandom, MillionsOfOperationsAreTheModelsToTheBitAndAgain) {
  constexpr uint32_t kDim = 6;
  const TableSpec spec = ContractSpec("t", kDim, OptimizerKind::kAdam, InitializerKind::kNormal);
  auto pool = DevicePool::Make(0, size_t{2} << 30);
  ASSERT_TRUE(pool.ok()) << pool.status().ToString();
  MapTable model(spec);
  GpuTable first(spec, **pool, PinnedPool::Make());
  const TableBits bits = RunOn(first, &model, kDim);
  EXPECT_GT(bits.size(), 50'000U);
  EXPECT_TRUE(bits == BitsOfTable(model));
  GpuTable second(spec, **pool, PinnedPool::Make());
  EXPECT_TRUE(bits == RunOn(second, nullptr, kDim));
}

// A part of the rows has room on the GPU.
TEST_F(GpuRandom, AndThroughTiers) {
  constexpr uint32_t kDim = 6;
  const TableSpec spec = ContractSpec("t", kDim, OptimizerKind::kAdam, InitializerKind::kNormal);
  ASSERT_NO_FATAL_FAILURE(Open(size_t{2} << 30, 3));
  MapTable model(spec);
  HotTable table(spec, *pool_, PinnedPool::Make(),
                 std::make_unique<HostTable>(spec, nullptr, RowOrder::kByHome), *workers_,
                 {.rows_max = 20'000, .chunk_rows_min = 64});
  const TableBits bits = RunOn(table, &model, kDim);
  EXPECT_TRUE(bits == BitsOfTable(model));
  EXPECT_EQ(table.Stats().rows, model.Stats().rows);
  const HotStats stats = table.hot_stats();
  EXPECT_LE(stats.rows, 20'000U);
  EXPECT_GT(stats.moved_up, kOperations / 100);
  EXPECT_GT(stats.moved_down, kOperations / 100);
  EXPECT_EQ(stats.passed_down, 0U);
}

TEST_F(GpuRandom, ABatchThatTheGpuHasNoRoomForIsCounted) {
  const TableSpec spec = ContractSpec("t", 1, OptimizerKind::kSgd, InitializerKind::kZero);
  ASSERT_NO_FATAL_FAILURE(Open(size_t{64} << 20, 1));
  HotTable table(spec, *pool_, PinnedPool::Make(),
                 std::make_unique<HostTable>(spec, nullptr, RowOrder::kByHome), *workers_,
                 {.rows_max = 40});
  std::vector<Key> keys(1000);
  std::iota(keys.begin(), keys.end(), Key{1});
  const std::vector<float> values(keys.size(), 1.0F);
  // The log has a line for the first one alone.
  for (const bool is_first : {true, false}) {
    testing::internal::CaptureStderr();
    EXPECT_TRUE(table.Assign(keys, values).ok());
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_EQ(log.find("table 't'") != std::string::npos, is_first) << log;
    EXPECT_EQ(log.find("server.gpu_memory") != std::string::npos, is_first) << log;
  }
  EXPECT_TRUE(table.Assign(std::span(keys).first(10), std::span(values).first(10)).ok());
  EXPECT_EQ(table.Stats().passed_down, 2U);
  EXPECT_EQ(table.Stats().rows, keys.size());
}

// Wherever memory ends: with rows in both tiers, with a snapshot under way, and before the GPU has
// a row.
TEST_F(GpuRandom, ALookupThatFindsNoMemoryIsAnsweredAllTheSame) {
  const FailCalls fail = CallsThatFail();
  if (fail == nullptr) GTEST_SKIP() << "needs a GPU that is emulated";
  const TableSpec spec = ContractSpec("t", 3, OptimizerKind::kSgd, InitializerKind::kUniform);
  ASSERT_NO_FATAL_FAILURE(Open(size_t{64} << 20, 1));
  std::vector<Key> keys(3000);
  std::iota(keys.begin(), keys.end(), Key{1});
  const std::span<const Key> with_rows = std::span(keys).first(2000);
  std::vector<float> values(with_rows.size() * spec.dim);
  std::iota(values.begin(), values.end(), 1.0F);
  MapTable model(spec);
  ASSERT_TRUE(model.Assign(with_rows, values).ok());
  ScanPage rows_of_model;
  rows_of_model.with_state = true;
  ASSERT_TRUE(model.Scan(rows_of_model).ok());
  ASSERT_EQ(rows_of_model.keys.size(), with_rows.size());
  enum class Before { kAssigned, kInSnapshot, kLoaded };
  for (const Before before : {Before::kAssigned, Before::kInSnapshot, Before::kLoaded}) {
    uint64_t passed_down = 0;
    for (unsigned after = 0; after < 40; ++after) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(before) << ", after " << after);
      HotTable table(spec, *pool_, PinnedPool::Make(),
                     std::make_unique<HostTable>(spec, nullptr, RowOrder::kByHome), *workers_,
                     {.rows_max = after % 2 == 0 ? 1500U : 3000U, .chunk_rows_min = 64});
      if (before == Before::kLoaded) {
        ASSERT_TRUE(table.Load(rows_of_model).ok());
      } else {
        for (size_t begin = 0; begin < with_rows.size(); begin += 1000) {
          ASSERT_TRUE(table
                          .Assign(with_rows.subspan(begin, 1000),
                                  std::span(values).subspan(begin * spec.dim, 1000 * spec.dim))
                          .ok());
        }
      }
      if (before == Before::kInSnapshot) table.BeginSnapshot(0);
      std::vector<float> found(keys.size() * spec.dim);
      std::vector<float> expected(found.size());
      fail("cudaMalloc", after, UINT_MAX);
      const Status status = table.Lookup(keys, found);
      fail("cudaMalloc", 0, 0);
      ASSERT_TRUE(status.ok()) << status.ToString();
      ASSERT_TRUE(model.Lookup(keys, expected).ok());
      EXPECT_EQ(BitsOf(found), BitsOf(expected));
      if (before == Before::kInSnapshot) {
        std::set<Key> taken;
        ScanPage page;
        page.rows_max = 256;
        page.with_state = true;
        do {
          ASSERT_TRUE(table.SnapshotPage(page).ok());
          taken.insert(page.keys.begin(), page.keys.end());
        } while (!page.done);
        EXPECT_EQ(taken, std::set<Key>(with_rows.begin(), with_rows.end()));
        table.EndSnapshot();
      }
      EXPECT_TRUE(BitsOfTable(table) == BitsOfTable(model));
      passed_down += table.Stats().passed_down;
    }
    EXPECT_GT(passed_down, 0U);
    EXPECT_LT(passed_down, 40U);
  }
}

// More keys that are missing than can be asked for at once: by halves, and nothing goes down for
// it.
TEST_F(GpuRandom, ALookupThatMissesMoreThanIsAskedForAtOnceIsDoneByHalves) {
  const TableSpec spec = ContractSpec("t", 3, OptimizerKind::kSgd, InitializerKind::kUniform);
  ASSERT_NO_FATAL_FAILURE(Open(size_t{64} << 20, 1));
  HotTable table(spec, *pool_, PinnedPool::Make(),
                 std::make_unique<HostTable>(spec, nullptr, RowOrder::kByHome), *workers_,
                 {.rows_max = 1000, .chunk_rows_min = 64, .missing_max = 1000});
  MapTable model(spec);
  std::vector<Key> keys(6000);
  std::iota(keys.begin(), keys.end(), Key{1});
  std::vector<float> values(4000 * spec.dim);
  std::iota(values.begin(), values.end(), 1.0F);
  for (size_t begin = 0; begin < 4000; begin += 500) {
    const auto some = std::span(keys).subspan(begin, 500);
    const auto rows = std::span(values).subspan(begin * spec.dim, 500 * spec.dim);
    ASSERT_TRUE(table.Assign(some, rows).ok() && model.Assign(some, rows).ok());
  }
  std::vector<float> found(keys.size() * spec.dim);
  std::vector<float> expected(found.size());
  ASSERT_TRUE(model.Lookup(keys, expected).ok());
  for (int times = 0; times < 3; ++times) {
    const Status status = table.Lookup(keys, found);
    ASSERT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(BitsOf(found), BitsOf(expected));
  }
  EXPECT_EQ(table.Stats().passed_down, 0U);
  EXPECT_EQ(table.Stats().lookups, 3 * keys.size());
  EXPECT_EQ(table.Stats().lookup_hits, 3U * 4000);
  EXPECT_TRUE(BitsOfTable(table) == BitsOfTable(model));
}

// What is on the way of every batch: once there is memory for one of its size, none is taken, and
// the host waits for the GPU once. A call beyond that ends the process.
TEST_F(GpuRandom, ABatchOfAWarmTableTakesNoMemoryAndWaitsOnce) {
  const FailCalls fail = CallsThatFail();
  if (fail == nullptr) GTEST_SKIP() << "needs a GPU that is emulated";
  const TableSpec spec = ContractSpec("t", 3, OptimizerKind::kAdaGrad, InitializerKind::kUniform);
  ASSERT_NO_FATAL_FAILURE(Open(size_t{64} << 20, 1));
  std::vector<Key> keys(2000);
  std::iota(keys.begin(), keys.end(), Key{1});
  std::vector<float> floats(keys.size() * spec.dim, 0.5F);
  const GradientPart part{keys, floats};
  for (const bool tiered : {false, true}) {
    std::unique_ptr<GpuTable> table;
    if (tiered) {
      table =
          std::make_unique<HotTable>(spec, *pool_, PinnedPool::Make(),
                                     std::make_unique<HostTable>(spec, nullptr, RowOrder::kByHome),
                                     *workers_, HotTableOptions{.rows_max = 2500});
      std::vector<Key> others(1000);
      std::iota(others.begin(), others.end(), Key{10'000});
      ASSERT_TRUE(table->Assign(others, std::span(floats).first(others.size() * spec.dim)).ok());
    } else {
      table = std::make_unique<GpuTable>(spec, *pool_, PinnedPool::Make());
    }
    uint64_t step = 1;
    const auto push = [&] { return table->ApplyGradients({&part, 1}, step++); };
    const auto together = [&]() -> Status {
      const GradientPart two[] = {{std::span(keys).first(700), std::span(floats).first(2100)},
                                  {std::span(keys).subspan(700), std::span(floats).subspan(2100)}};
      STRATA_TRY(table->PrepareUpdates(two));
      table->CommitUpdates(std::vector<uint64_t>{step++, step++});
      return {};
    };
    const auto pull = [&] { return table->Lookup(keys, floats); };
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(push().ok() && pull().ok());  // the others go down
    for (int i = 0; i < 10; ++i) {
      for (const auto& call : {std::function<Status()>(push), std::function<Status()>(together),
                               std::function<Status()>(pull)}) {
        fail("cudaStreamSynchronize", 1, UINT_MAX);
        const Status waited_once = call();
        fail("cudaMalloc", 0, UINT_MAX);
        const Status took_nothing = call();
        fail("cudaMalloc", 0, 0);
        ASSERT_TRUE(waited_once.ok()) << waited_once.ToString();
        ASSERT_TRUE(took_nothing.ok()) << took_nothing.ToString();
      }
    }
    EXPECT_EQ(table->Stats().passed_down, 0U);
  }
}

// Batches behind one that missed keys: all are found before any row is copied. Some rows are on the
// GPU, some come up meanwhile and push others out, some keys repeat, some have no row anywhere.
TEST_F(GpuRandom, LookupsBehindOneThatMissedAreTheModels) {
  for (const ElementType type : {ElementType::kFp32, ElementType::kBf16}) {
    TableSpec spec = ContractSpec("t", 5, OptimizerKind::kSgd, InitializerKind::kUniform);
    spec.value_type = type;
    ASSERT_NO_FATAL_FAILURE(Open(size_t{64} << 20, 1));
    HotTable table(spec, *pool_, PinnedPool::Make(),
                   std::make_unique<HostTable>(spec, nullptr, RowOrder::kByHome), *workers_,
                   {.rows_max = 300, .chunk_rows_min = 16});
    MapTable model(spec);
    std::vector<Key> keys(200);
    std::vector<float> values(keys.size() * spec.dim);
    std::iota(values.begin(), values.end(), 0.0F);
    for (Key first = 0; first < 1000; first += keys.size()) {
      std::iota(keys.begin(), keys.end(), first);
      ASSERT_TRUE(table.Assign(keys, values).ok());
      ASSERT_TRUE(model.Assign(keys, values).ok());
    }
    std::mt19937_64 random(1);
    std::vector<float> of_model(values.size());
    for (int batch = 0; batch < 30; ++batch) {
      for (Key& key : keys) key = random() % 1200;
      ASSERT_TRUE(model.Lookup(keys, of_model).ok());
      for (int again = 0; again < 2; ++again) {
        ASSERT_TRUE(table.Lookup(keys, values).ok());
        ASSERT_EQ(BitsOf(values), BitsOf(of_model)) << "batch " << batch;
      }
      ASSERT_EQ(table.Stats().lookup_hits, 2 * model.Stats().lookup_hits);
    }
  }
}

// Rows of the keys below `count`, in host memory below the table.
void LoadBoth(const TableSpec& spec, Key count, HotTable& table, MapTable& model) {
  std::vector<Key> keys(count);
  std::iota(keys.begin(), keys.end(), Key{0});
  std::vector<float> values(keys.size() * spec.dim);
  std::iota(values.begin(), values.end(), 0.0F);
  ASSERT_TRUE(model.Assign(keys, values).ok());
  ScanPage page;
  page.with_state = true;
  page.rows_max = static_cast<uint32_t>(keys.size());
  ASSERT_TRUE(model.Scan(page).ok());
  ASSERT_TRUE(table.Load(page).ok());
}

// Where all that a lookup misses has room, it comes up, to the last row. Where rows would have to
// go for it, a part does, unless the table was written to within 256 operations.
TEST_F(GpuRandom, OfATableThatIsOnlyReadAPartOfWhatIsMissedComesUp) {
  const TableSpec spec = ContractSpec("t", 5, OptimizerKind::kSgd, InitializerKind::kUniform);
  ASSERT_NO_FATAL_FAILURE(Open(size_t{64} << 20, 1));
  HotTable table(spec, *pool_, PinnedPool::Make(),
                 std::make_unique<HostTable>(spec, nullptr, RowOrder::kByHome), *workers_,
                 {.rows_max = 1000, .chunk_rows_min = 16});
  MapTable model(spec);
  ASSERT_NO_FATAL_FAILURE(LoadBoth(spec, 4000, table, model));
  std::vector<Key> keys(200);
  std::vector<float> values(keys.size() * spec.dim);
  std::vector<float> of_model(values.size());
  const auto read = [&] { return table.Tiers()[static_cast<size_t>(Tier::kWarm)].hits; };
  const auto look_up = [&] {
    ASSERT_TRUE(table.Lookup(keys, values).ok() && model.Lookup(keys, of_model).ok());
    ASSERT_EQ(BitsOf(values), BitsOf(of_model));
  };
  for (Key first = 0; first < 1000; first += keys.size()) {
    std::iota(keys.begin(), keys.end(), first);
    ASSERT_NO_FATAL_FAILURE(look_up());
  }
  EXPECT_EQ(table.hot_stats().moved_up, 1000U) << "while there is room";
  const TierUse hot = table.Tiers()[static_cast<size_t>(Tier::kHot)];
  EXPECT_EQ(hot.bytes_in, hot.rows_in * (32 + spec.dim * sizeof(float)));

  std::mt19937_64 random(1);
  uint64_t came = 0;
  uint64_t was_read = 0;
  const auto look_up_some = [&](int batches, size_t distinct) {
    const uint64_t read_before = read();
    const uint64_t before = table.hot_stats().moved_up;
    for (int batch = 0; batch < batches; ++batch) {
      for (size_t i = 0; i < keys.size(); ++i) {
        keys[i] = i < distinct ? random() % 4500 : keys[i % distinct];  // some have no row anywhere
      }
      ASSERT_NO_FATAL_FAILURE(look_up());
    }
    came = table.hot_stats().moved_up - before;
    was_read = read() - read_before;
  };
  for (const size_t distinct : {200, 10}) {  // in many chunks, and in one
    ASSERT_NO_FATAL_FAILURE(look_up_some(400, distinct));
    EXPECT_LT(came, was_read / 5);
    EXPECT_GT(came, was_read / 14);
  }
  const GradientPart part{keys, values};
  ASSERT_TRUE(table.ApplyGradients({&part, 1}, 1).ok());
  ASSERT_TRUE(model.ApplyGradients({&part, 1}, 1).ok());
  ASSERT_NO_FATAL_FAILURE(look_up_some(256, 20));
  EXPECT_EQ(came, was_read) << "behind an update";
  ASSERT_TRUE(table.Erase(keys).ok() && model.Erase(keys).ok());
  ASSERT_NO_FATAL_FAILURE(look_up_some(100, 200));
  EXPECT_LT(came, was_read / 5) << "256 operations behind an update";
}

// A disk below, say.
class TableBeyondMemory final : public HostTable {
 public:
  using HostTable::HostTable;
  bool IsInMemory() const override { return false; }
};

// The order of those that were pushed least has a rule of its own, and a row that does not come up
// would be read from disk again.
TEST_F(GpuRandom, OfATableThatIsOnlyReadAllComesUpByPushesAndFromDisk) {
  const TableSpec spec = ContractSpec("t", 1, OptimizerKind::kSgd, InitializerKind::kZero);
  ASSERT_NO_FATAL_FAILURE(Open(size_t{64} << 20, 1));
  for (const bool from_disk : {false, true}) {
    std::unique_ptr<LowerTable> below =
        std::make_unique<HostTable>(spec, nullptr, RowOrder::kByHome);
    if (from_disk) below = std::make_unique<TableBeyondMemory>(spec, nullptr);
    const VictimOrder order = from_disk ? VictimOrder::kLeastRecent : VictimOrder::kLeastPushed;
    HotTable table(spec, *pool_, PinnedPool::Make(), std::move(below), *workers_,
                   {.order = order, .rows_max = 1000, .chunk_rows_min = 16});
    MapTable model(spec);
    ASSERT_NO_FATAL_FAILURE(LoadBoth(spec, 4000, table, model));
    std::vector<Key> keys(200);
    std::vector<float> values(keys.size());
    for (Key first = 0; first < 4000; first += keys.size()) {
      std::iota(keys.begin(), keys.end(), first);
      ASSERT_TRUE(table.Lookup(keys, values).ok());
    }
    EXPECT_EQ(table.hot_stats().moved_up, 4000U) << from_disk;
  }
}

// Each batch is announced while the one before it is worked on, of which it shares keys. Rows are
// so wide that those of a hint are more than the slots of their chunks hold, or few.
TEST_F(GpuRandom, BatchesThatWereAnnouncedAreFoundOnTheGpu) {
  struct Shape {
    uint32_t dim;
    size_t keys;  // of a batch
    Key universe;
    uint64_t rows_max;
    int batches;
  };
  for (const Shape& shape :
       {Shape{1024, 16'000, 24'000, 80'000, 2}, Shape{5, 400, 16'000, 6'000, 60}}) {
    const TableSpec spec =
        ContractSpec("t", shape.dim, OptimizerKind::kSgd, InitializerKind::kUniform);
    ASSERT_NO_FATAL_FAILURE(Open(size_t{512} << 20, 2));
    HotTable table(spec, *pool_, PinnedPool::Make(),
                   std::make_unique<HostTable>(spec, nullptr, RowOrder::kByHome), *workers_,
                   {.rows_max = shape.rows_max, .chunk_rows_min = 16});
    MapTable model(spec);
    ASSERT_NO_FATAL_FAILURE(LoadBoth(spec, shape.universe, table, model));
    std::vector<Key> keys(shape.keys);
    std::iota(keys.begin(), keys.end(), Key{0});
    std::vector<float> values(keys.size() * spec.dim);
    std::mt19937_64 random(1);
    const auto draw = [&] {
      std::vector<Key> drawn(keys.size());
      for (size_t i = 0; i < drawn.size(); ++i) {
        drawn[i] = i % 4 == 0 ? keys[i] : random() % shape.universe;
      }
      return drawn;
    };
    keys = draw();
    table.Prefetch(keys);
    std::vector<float> of_model(values.size());
    for (int batch = 0; batch < shape.batches; ++batch) {
      const std::vector<Key> next = draw();
      table.Prefetch(next);
      const uint64_t hits = table.hot_stats().hits;
      ASSERT_TRUE(table.Lookup(keys, values).ok() && model.Lookup(keys, of_model).ok());
      ASSERT_EQ(BitsOf(values), BitsOf(of_model)) << "batch " << batch;
      EXPECT_EQ(table.hot_stats().hits, hits + keys.size());
      EXPECT_EQ(table.Stats().rows, shape.universe);
      const GradientPart part{keys, values};
      const auto step = static_cast<uint64_t>(batch + 1);
      if (batch % 4 == 1) {
        ASSERT_TRUE(table.ApplyGradients({&part, 1}, step).ok());
        ASSERT_TRUE(model.ApplyGradients({&part, 1}, step).ok());
      }
      keys = next;
    }
    EXPECT_GT(table.hot_stats().moved_up, shape.keys);
    EXPECT_EQ(table.Stats().passed_down, 0U);
  }
}

// Hints of more rows than a slot has room for, behind hints of few and before them: what one has
// gathered waits in its slots until the next one has been searched.
TEST_F(GpuRandom, HintsOfManyRowsBehindHintsOfFew) {
  const TableSpec spec = ContractSpec("t", 1024, OptimizerKind::kSgd, InitializerKind::kUniform);
  ASSERT_NO_FATAL_FAILURE(Open(size_t{512} << 20, 2));
  HotTable table(spec, *pool_, PinnedPool::Make(),
                 std::make_unique<HostTable>(spec, nullptr, RowOrder::kByHome), *workers_,
                 {.rows_max = 80'000, .chunk_rows_min = 16});
  MapTable model(spec);
  std::vector<Key> keys(24'000);
  std::iota(keys.begin(), keys.end(), Key{0});
  ASSERT_NO_FATAL_FAILURE(LoadBoth(spec, keys.size(), table, model));
  std::vector<float> values(keys.size() * spec.dim);
  const std::span<const Key> all(keys);
  for (const auto& [first, count] : {std::pair{0, 1000},
                                     {1000, 9000},
                                     {10'000, 500},
                                     {10'500, 700},
                                     {11'200, 12'000},
                                     {23'200, 800}}) {
    table.Prefetch(all.subspan(static_cast<size_t>(first), static_cast<size_t>(count)));
  }
  std::vector<float> of_model(values.size());
  ASSERT_TRUE(table.Lookup(keys, values).ok() && model.Lookup(keys, of_model).ok());
  EXPECT_EQ(BitsOf(values), BitsOf(of_model));
  // A quarter of the rows that there is room for is locked at a time; there is room for all.
  EXPECT_EQ(table.hot_stats().hits, keys.size());
  EXPECT_EQ(table.Stats().rows, keys.size());
}

// Whatever comes behind a hint, its rows do not come up older than they are.
TEST_F(GpuRandom, WhatComesBehindAHintIsTheModels) {
  const TableSpec spec = ContractSpec("t", 3, OptimizerKind::kAdaGrad, InitializerKind::kUniform);
  ASSERT_NO_FATAL_FAILURE(Open(size_t{64} << 20, 2));
  HotTable table(spec, *pool_, PinnedPool::Make(),
                 std::make_unique<HostTable>(spec, nullptr, RowOrder::kByHome), *workers_,
                 {.rows_max = 400, .chunk_rows_min = 8});
  MapTable model(spec);
  std::mt19937_64 random(3);
  std::vector<Key> keys(100);
  std::vector<float> values(keys.size() * spec.dim, 0.25F);
  std::vector<float> of_model(values.size());
  const auto draw = [&] {
    for (Key& key : keys) key = Mix64(random() % 1000);
  };
  for (uint64_t step = 1; step <= 400 && !HasFailure(); ++step) {
    draw();
    table.Prefetch(std::span(keys).first(40));
    if (step % 3 == 0) {  // what was hinted, or also others
      for (size_t i = 40; i < keys.size(); ++i) keys[i] = keys[i % 40];
    }
    const GradientPart part{keys, values};
    switch (random() % 7) {
      case 0:
        ASSERT_TRUE(table.ApplyGradients({&part, 1}, step).ok());
        ASSERT_TRUE(model.ApplyGradients({&part, 1}, step).ok());
        break;
      case 1:
        ASSERT_TRUE(table.Assign(keys, values).ok() && model.Assign(keys, values).ok());
        break;
      case 2:
        EXPECT_EQ(table.Erase(keys).value(), model.Erase(keys).value());
        break;
      case 3: {
        ScanPage page;
        page.with_state = true;
        ASSERT_TRUE(model.Scan(page).ok());
        ASSERT_TRUE(table.Load(page).ok());
        break;
      }
      case 4:
        table.KeepToShare();
        table.ExpectRows(10 * step);
        break;
      case 5:
        table.BeginSnapshot(0);
        break;
      default:
        break;
    }
    ASSERT_TRUE(table.Lookup(keys, values).ok() && model.Lookup(keys, of_model).ok());
    ASSERT_EQ(BitsOf(values), BitsOf(of_model)) << "step " << step;
    table.EndSnapshot();
    if (step % 16 == 0) EXPECT_TRUE(BitsOfTable(table) == BitsOfTable(model)) << "step " << step;
    EXPECT_EQ(table.Stats().rows, model.Stats().rows) << "step " << step;
    values.assign(values.size(), 0.25F);
  }
  EXPECT_GT(table.hot_stats().moved_up, 1000U);
}

// A disk below, say.
class TableThatCannotRead final : public HostTable {
 public:
  using HostTable::HostTable;
  Status ReadRows(std::span<const Key>, const ReadOptions&, WorkPool&, const RowVisit&) override {
    return Failed("a test's disk");
  }
};

TEST_F(GpuRandom, AnErrorBelowSendsNothingDown) {
  const TableSpec spec = ContractSpec("t", 1, OptimizerKind::kSgd, InitializerKind::kZero);
  ASSERT_NO_FATAL_FAILURE(Open(size_t{64} << 20, 1));
  HotTable table(spec, *pool_, PinnedPool::Make(),
                 std::make_unique<TableThatCannotRead>(spec, nullptr), *workers_, {.rows_max = 40});
  std::vector<Key> keys(30);
  std::iota(keys.begin(), keys.end(), Key{1});
  std::vector<float> values(keys.size(), 1.0F);
  ASSERT_TRUE(table.Assign(keys, values).ok());
  for (Key& key : keys) key += 100;
  ASSERT_TRUE(table.Assign(keys, values).ok());  // some of the others go down
  for (Key& key : keys) key += 100;
  const uint64_t here = table.hot_stats().rows;
  ASSERT_GT(here, 30U);
  EXPECT_EQ(table.Lookup(keys, values).code(), StatusCode::kFailed);
  EXPECT_EQ(table.Assign(keys, values).code(), StatusCode::kFailed);
  const GradientPart part{keys, values};
  EXPECT_EQ(table.ApplyGradients({&part, 1}, 1).code(), StatusCode::kFailed);
  EXPECT_GE(table.hot_stats().rows, here - 30) << "those that made room";
  EXPECT_EQ(table.Stats().passed_down, 0U);
}

// Keys of which the table below counts the first pushes, beside that table alone.
TEST_F(GpuRandom, KeysGetRowsWhenTheTableBelowAdmitsThem) {
  constexpr uint32_t kDim = 5;
  const TableSpec spec =
      ContractSpec("t", kDim, OptimizerKind::kAdaGrad, InitializerKind::kUniform);
  ASSERT_NO_FATAL_FAILURE(Open(size_t{256} << 20, 2));
  const TierPolicy policy{.admit_from = 4};
  TierParts own(100'000);
  TierParts below(100'000);
  TieredTable model(spec, policy, own.warm, own.folder.cold(), *own.executor);
  HotTable table(
      spec, *pool_, PinnedPool::Make(),
      std::make_unique<TieredTable>(spec, policy, below.warm, below.folder.cold(), *below.executor),
      *workers_, {.rows_max = 300});
  std::mt19937_64 random(7);
  for (uint64_t step = 1; step <= 300 && !HasFailure(); ++step) {
    std::vector<Key> keys(1 + random() % 200);
    for (Key& key : keys) key = Mix64(random() % (1 + random() % 1'500));
    std::vector<float> floats(keys.size() * kDim);
    for (float& value : floats) value = static_cast<float>(random() % 100) * 0.01F;
    if (step % 3 == 0) floats[random() % floats.size()] = std::numeric_limits<float>::quiet_NaN();
    if (step % 3 == 1 && keys.size() > 1) {  // each is finite, their sum is not
      keys.back() = keys.front();
      floats.front() = floats[floats.size() - kDim] = 0.75F * std::numeric_limits<float>::max();
    }
    const size_t half = keys.size() / 2;
    const GradientPart parts[] = {
        {std::span(keys).first(half), std::span(floats).first(half * kDim)},
        {std::span(keys).subspan(half), std::span(floats).subspan(half * kDim)}};
    EXPECT_TRUE(table.ApplyGradients(parts, step).ok());
    EXPECT_TRUE(model.ApplyGradients(parts, step).ok());
    if (step % 20 == 0) {  // an assign admits at once
      const std::vector<float> values(10 * kDim, 0.5F);
      EXPECT_TRUE(table.Assign(std::span(keys).first(1), std::span(values).first(kDim)).ok());
      EXPECT_TRUE(model.Assign(std::span(keys).first(1), std::span(values).first(kDim)).ok());
    }
    std::vector<float> rows(floats.size());
    std::vector<float> expected(floats.size());
    EXPECT_TRUE(table.Lookup(keys, rows).ok());
    EXPECT_TRUE(model.Lookup(keys, expected).ok());
    EXPECT_EQ(BitsOf(rows), BitsOf(expected)) << "step " << step;
    EXPECT_EQ(table.Stats().rows, model.Stats().rows) << "step " << step;
    EXPECT_EQ(table.Stats().not_admitted, model.Stats().not_admitted) << "step " << step;
    EXPECT_EQ(table.Stats().rejected, model.Stats().rejected) << "step " << step;
  }
  EXPECT_GT(model.Stats().not_admitted, 1'000U);
  EXPECT_GT(model.Stats().rows, 300U);
  EXPECT_GT(model.Stats().rejected, 10U);
}

}  // namespace
}  // namespace strata
