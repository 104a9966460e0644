// The table on a GPU under the contracts of TableStore and of snapshots.
#include "storage/gpu/device_pool.h"
#include "storage/gpu/gpu_store.h"
#include "storage/gpu/gpu_table.h"
#include "storage/gpu/hot/hot_table.h"
#include "storage/memory/host_table.h"
#include "tests/contract/snapshot_contract.h"
#include "tests/contract/table_contract.h"
#include "tests/storage/tier_parts.h"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

constexpr size_t kPoolBytes = size_t{8} << 30;

class GpuHarness : public ContractHarness {
 public:
  GpuHarness() {
    auto store = MakeLocalGpuStore({.device = 0, .memory_bytes = kPoolBytes}, clock_);
    STRATA_CHECK_MSG(store.ok(), store.status().ToString());
    store_ = std::move(*store);
  }
  TableStore& store() override { return *store_; }
  TimeNs Now() override { return clock_.Now(); }

 private:
  SimClock clock_{1000};
  std::unique_ptr<TableStore> store_;
};

DevicePool& Pool() {
  static const std::unique_ptr<DevicePool> pool = [] {
    auto made = DevicePool::Make(0, kPoolBytes);
    STRATA_CHECK_MSG(made.ok(), made.status().ToString());
    return std::move(*made);
  }();
  return *pool;
}

WorkPool& Workers() {
  static const std::unique_ptr<WorkPool> workers = [] {
    auto started = WorkPool::Start("gather", 3);
    STRATA_CHECK_MSG(started.ok(), started.status().ToString());
    return std::move(*started);
  }();
  return *workers;
}

std::unique_ptr<LocalTable> MakeHot(const TableSpec& spec, std::unique_ptr<LowerTable> below,
                                    const HotTableOptions& options) {
  return std::make_unique<HotTable>(spec, Pool(), PinnedPool::Make(), std::move(below), Workers(),
                                    options);
}

// All three tiers, or the upper two.
class HotHarness : public ContractHarness {
 public:
  HotHarness(const HotTableOptions& options, bool with_cold)
      : parts_(with_cold ? std::make_unique<TierParts>(3100) : nullptr),
        store_(
            "a store with a hot tier",
            [this, options](const TableSpec& spec) { return MakeHot(spec, Below(spec), options); },
            clock_) {}
  TableStore& store() override { return store_; }
  TimeNs Now() override { return clock_.Now(); }

 private:
  std::unique_ptr<LowerTable> Below(const TableSpec& spec) {
    if (parts_ == nullptr) return std::make_unique<HostTable>(spec);
    return std::make_unique<TieredTable>(spec, TierPolicy{}, parts_->warm, parts_->folder.cold(),
                                         *parts_->executor);
  }

  SimClock clock_{1000};
  std::unique_ptr<TierParts> parts_;
  LocalStore store_;
};

TableContractCase HotCase(std::string name, const HotTableOptions& options, bool with_cold) {
  TableContractCase result;
  result.name = std::move(name);
  result.make = [=] { return std::make_unique<HotHarness>(options, with_cold); };
  result.random_steps = 1'000;
  result.growth_rows = 30'000;
  return result;
}

std::vector<TableContractCase> StoreCases() {
  if (GpusHere() == 0) return {};
  TableContractCase gpu;
  gpu.name = "Gpu";
  gpu.make = [] { return std::make_unique<GpuHarness>(); };
  gpu.random_steps = kGpuIsEmulated ? 1'000 : 2'000;
  // With room for the largest batch, with hardly any, and with all that there is.
  constexpr uint64_t kFew = 3'100;
  return {
      gpu,
      HotCase("HotAll", {}, false),
      HotCase("HotFew", {.rows_max = kFew}, false),
      HotCase("HotFewLfu",
              {.order = VictimOrder::kLeastPushed, .rows_max = kFew, .chunk_rows_min = 3}, false),
      HotCase("HotNextToNothing", {.rows_max = 40}, false),
      HotCase("HotWarmCold", {.rows_max = kFew, .chunk_rows_min = 2}, true)};
}

std::unique_ptr<LocalTable> MakeTable(const TableSpec& spec) {
  return std::make_unique<GpuTable>(spec, Pool(), PinnedPool::Make());
}

SnapshotCase HotSnapshots(std::string name, uint64_t rows_max, bool with_cold,
                          uint64_t ttl_steps = 0) {
  const auto make = [=](const TableSpec& spec) {
    std::unique_ptr<LowerTable> below;
    if (with_cold) {
      static TierParts parts(150);
      below = std::make_unique<TieredTable>(spec, TierPolicy{.ttl_steps = ttl_steps}, parts.warm,
                                            parts.folder.cold(), *parts.executor);
    } else {
      below = std::make_unique<HostTable>(spec, nullptr, RowOrder::kByHome);
    }
    return MakeHot(spec, std::move(below), {.rows_max = rows_max});
  };
  return {
      .name = std::move(name), .make = make, .seeds = with_cold ? 5U : 20U, .ttl_steps = ttl_steps};
}

std::vector<SnapshotCase> SnapshotCases() {
  if (GpusHere() == 0) return {};
  SnapshotCase gpu;
  gpu.name = "Gpu";
  gpu.make = MakeTable;
  gpu.seeds = kGpuIsEmulated ? 15 : 60;
  return {gpu, HotSnapshots("HotAll", UINT64_MAX, false), HotSnapshots("HotFew", 150, false),
          HotSnapshots("HotWarmCold", 150, true),
          HotSnapshots("HotWarmColdWithRowsThatExpire", 60, true, 1100)};
}

INSTANTIATE_TEST_SUITE_P(Gpu, TableContract, testing::ValuesIn(StoreCases()), TableContractName);
INSTANTIATE_TEST_SUITE_P(Gpu, SnapshotContract, testing::ValuesIn(SnapshotCases()),
                         SnapshotCaseName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TableContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SnapshotContract);

// Where there is none, the suites above have no cases: this one says so.
TEST(GpuContract, RunsOnAGpu) { STRATA_SKIP_BELOW_GPUS(1); }

}  // namespace
}  // namespace strata
