// Tables on disk, and over memory and disk, under the contract of TableStore.
#include "storage/memory/local_store.h"
#include "storage/rocks/rocks_table.h"
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

INSTANTIATE_TEST_SUITE_P(Tiers, TableContract, testing::Values(RocksCase()), TableContractName);

}  // namespace
}  // namespace strata
