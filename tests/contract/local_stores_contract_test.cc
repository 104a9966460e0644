// The stores of one process under the contract of TableStore.
#include "storage/memory/host_store.h"
#include "tests/contract/table_contract.h"
#include "tests/support/map_table.h"

namespace strata {
namespace {

class LocalHarness : public ContractHarness {
 public:
  explicit LocalHarness(std::function<std::unique_ptr<TableStore>(const Clock&)> make)
      : store_(make(clock_)) {}
  TableStore& store() override { return *store_; }
  TimeNs Now() override { return clock_.Now(); }

 private:
  SimClock clock_{1000};
  std::unique_ptr<TableStore> store_;
};

TableContractCase LocalCase(std::string name,
                            std::function<std::unique_ptr<TableStore>(const Clock&)> make) {
  TableContractCase result;
  result.name = std::move(name);
  result.make = [make] { return std::make_unique<LocalHarness>(make); };
  return result;
}

INSTANTIATE_TEST_SUITE_P(
    Local, TableContract,
    testing::Values(LocalCase("Model", [](const Clock& clock) { return MakeMapStore(clock); }),
                    LocalCase("Host",
                              [](const Clock& clock) { return MakeHostStore({.clock = &clock}); })),
    TableContractName);

}  // namespace
}  // namespace strata
