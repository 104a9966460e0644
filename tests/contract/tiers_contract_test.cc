// Tables on disk, and over memory and disk, under the contract of TableStore.
#include "storage/memory/local_store.h"
#include "storage/rocks/rocks_table.h"
#include "storage/tiered/tiered_table.h"
#include "tests/contract/table_contract.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

// A store whose tables share one RocksDB in a folder that goes with it.
class ColdHarness : public ContractHarness {
 public:
  using MakeTable = std::function<std::unique_ptr<LocalTable>(const TableSpec&, RocksDb&)>;

  explicit ColdHarness(MakeTable make_table) {
    auto cold = RocksDb::Open({.folder = folder_.path() + "/cold",
                               .memory_bytes_max = 8 << 20,
                               .direct_io = false,  // wherever tests put their folders
                               .read_threads = 1});
    STRATA_CHECK_MSG(cold.ok(), cold.status().ToString());
    cold_ = std::move(cold).value();
    const auto factory = [this, make_table](const TableSpec& spec) {
      return make_table(spec, *cold_);
    };
    store_ = std::make_unique<LocalStore>("a store with a cold tier", factory, clock_);
  }
  TableStore& store() override { return *store_; }
  TimeNs Now() override { return clock_.Now(); }

 private:
  SimClock clock_{1000};
  TempFolder folder_;
  std::unique_ptr<RocksDb> cold_;
  std::unique_ptr<LocalStore> store_;
};

TableContractCase RocksCase() {
  TableContractCase result;
  result.name = "Rocks";
  result.make = [] {
    return std::make_unique<ColdHarness>([](const TableSpec& spec, RocksDb& cold) {
      return std::make_unique<RocksTable>(spec, cold);
    });
  };
  result.random_steps = 1'000;
  result.growth_rows = 30'000;
  return result;
}

struct TieredParts {
  explicit TieredParts(uint64_t rows_max) : warm(uint64_t{1} << 30, rows_max) {}
  WarmShares warm;
  std::unique_ptr<TierExecutor> executor = MakeInlineExecutor();
};

// So few rows in memory that nearly every batch moves some, in the calling thread.
TableContractCase TieredCase(std::string name, KeepPolicy keep, uint64_t rows_max) {
  TableContractCase result;
  result.name = std::move(name);
  result.make = [keep, rows_max] {
    const auto parts = std::make_shared<TieredParts>(rows_max);
    return std::make_unique<ColdHarness>([parts, keep](const TableSpec& spec, RocksDb& cold) {
      return std::make_unique<TieredTable>(spec, TierPolicy{.keep = keep}, parts->warm, cold,
                                           *parts->executor);
    });
  };
  result.random_steps = 2'000;
  result.growth_rows = 30'000;
  return result;
}

INSTANTIATE_TEST_SUITE_P(Tiers, TableContract,
                         testing::Values(RocksCase(),
                                         TieredCase("TieredLru", KeepPolicy::kLru, 3100),
                                         TieredCase("TieredLfu", KeepPolicy::kLfu, 3100)),
                         TableContractName);

}  // namespace
}  // namespace strata
