// Tables of very different sizes on one GPU, beside the std::map model.
#include <numeric>

#include "storage/memory/host_table.h"
#include "tests/contract/hot_tiers.cuh"
#include "tests/support/device_memory.cuh"
#include "tests/support/map_table.h"

namespace strata {
namespace {

constexpr size_t kPoolBytes = size_t{64} << 20;
constexpr size_t kSmallTables = 3;

TableSpec Spec() {
  TableSpec spec{.name = "t"};
  spec.dim = 128;
  spec.optimizer.kind = OptimizerKind::kAdaGrad;
  return spec;
}

class GpuShares : public testing::Test {
 protected:
  struct Pair {
    std::unique_ptr<HotTable> table;
    std::unique_ptr<MapTable> model;

    void Push(Key first, size_t count) const {
      std::vector<Key> keys(count);
      std::iota(keys.begin(), keys.end(), first);
      std::vector<float> gradients(count * Spec().dim);
      for (size_t i = 0; i < gradients.size(); ++i) {
        gradients[i] = static_cast<float>(i % 251) * 0.01F - 1.0F;
      }
      const GradientPart part{keys, gradients};
      ASSERT_TRUE(table->ApplyGradients({&part, 1}, 1).ok());
      ASSERT_TRUE(model->ApplyGradients({&part, 1}, 1).ok());
    }
    void ExpectEqual(size_t count) const {
      std::vector<Key> keys(count);
      std::iota(keys.begin(), keys.end(), Key{0});
      EXPECT_TRUE(RowsOf(*table, keys) == RowsOf(*model, keys));
      EXPECT_EQ(table->Stats().rows, model->Stats().rows);
    }
    uint64_t hot_rows() const { return table->hot_stats().rows; }
  };

  void SetUp() override {
    STRATA_SKIP_BELOW_GPUS(1);
    auto pool = DevicePool::Make(0, kPoolBytes);
    ASSERT_TRUE(pool.ok()) << pool.status().ToString();
    pool_ = std::move(*pool);
    auto workers = WorkPool::Start("gather", 1);
    ASSERT_TRUE(workers.ok()) << workers.status().ToString();
    workers_ = std::move(*workers);
  }
  Pair Make() {
    return {
        std::make_unique<HotTable>(Spec(), *pool_, PinnedPool::Make(),
                                   std::make_unique<HostTable>(Spec(), nullptr, RowOrder::kByHome),
                                   *workers_, HotTableOptions{}),
        std::make_unique<MapTable>(Spec())};
  }

  std::unique_ptr<DevicePool> pool_;
  std::unique_ptr<WorkPool> workers_;
};

TEST_F(GpuShares, ALargeTableHasWhatSmallOnesLeaveUntilTheyGrow) {
  constexpr size_t kRows = 20'000;  // half as many would fill an equal part
  constexpr size_t kGrown = 9'000;
  constexpr size_t kBatch = 1'000;
  std::vector<Pair> small;
  while (small.size() < kSmallTables) {
    small.push_back(Make());
    small.back().Push(0, 1);
  }
  const Pair large = Make();
  for (Key key = 0; key < kRows; key += kBatch) large.Push(key, kBatch);
  EXPECT_EQ(large.hot_rows(), kRows);
  EXPECT_EQ(large.table->hot_stats().moved_down, 0U);
  const uint64_t alone = large.table->hot_stats().bytes;
  EXPECT_GT(alone, kPoolBytes / (kSmallTables + 1));

  for (Key key = 0; key < kGrown; key += kBatch) {
    for (const Pair& pair : small) pair.Push(key, kBatch);
    large.table->KeepToShare();  // nobody uses it
  }
  // What was passed down comes up when it is used.
  for (const Pair& pair : small) {
    pair.ExpectEqual(kGrown);
    EXPECT_EQ(pair.hot_rows(), kGrown);
    EXPECT_LE(pair.table->hot_stats().moved_down, kBatch);  // before the large one gave back
  }
  EXPECT_LT(large.table->hot_stats().bytes, alone);

  // It takes its part anew, and no more: the others keep theirs.
  for (Key key = 0; key < kRows; key += kBatch) large.Push(key, kBatch);
  large.ExpectEqual(kRows);
  EXPECT_GT(large.hot_rows(), kGrown / 2);
  EXPECT_LE(large.table->hot_stats().bytes, kPoolBytes / (kSmallTables + 1));
  for (const Pair& pair : small) {
    pair.Push(0, kBatch);
    EXPECT_EQ(pair.hot_rows(), kGrown);
    pair.ExpectEqual(kGrown);
  }
}

}  // namespace
}  // namespace strata
