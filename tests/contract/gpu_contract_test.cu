// The table on a GPU under the contracts of TableStore and of snapshots.
#include "storage/gpu/device_pool.h"
#include "storage/gpu/gpu_store.h"
#include "storage/gpu/gpu_table.h"
#include "tests/contract/snapshot_contract.h"
#include "tests/contract/table_contract.h"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

constexpr size_t kPoolBytes = size_t{8} << 30;

class GpuHarness : public ContractHarness {
 public:
  GpuHarness() {
    auto store = MakeGpuStore({.device = 0, .memory_bytes = kPoolBytes, .clock = &clock_});
    STRATA_CHECK_MSG(store.ok(), store.status().ToString());
    store_ = std::move(*store);
  }
  TableStore& store() override { return *store_; }
  TimeNs Now() override { return clock_.Now(); }

 private:
  SimClock clock_{1000};
  std::unique_ptr<TableStore> store_;
};

std::vector<TableContractCase> StoreCases() {
  if (GpusHere() == 0) return {};
  TableContractCase gpu;
  gpu.name = "Gpu";
  gpu.make = [] { return std::make_unique<GpuHarness>(); };
  gpu.random_steps = 2'000;
  return {gpu};
}

std::unique_ptr<LocalTable> MakeTable(const TableSpec& spec) {
  static const std::unique_ptr<DevicePool> pool = [] {
    auto made = DevicePool::Make(0, kPoolBytes);
    STRATA_CHECK_MSG(made.ok(), made.status().ToString());
    return std::move(*made);
  }();
  return std::make_unique<GpuTable>(spec, *pool, PinnedPool::Make());
}

std::vector<SnapshotCase> SnapshotCases() {
  if (GpusHere() == 0) return {};
  SnapshotCase gpu;
  gpu.name = "Gpu";
  gpu.make = MakeTable;
  gpu.seeds = 60;
  return {gpu};
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
