#include "storage/memory/host_store.h"

#include "storage/memory/host_table.h"
#include "storage/memory/memory_budget.h"
#include "strata/local_store.h"

namespace strata {

std::unique_ptr<LocalStore> MakeHostStore(HostStoreOptions options) {
  // Kept alive by the factory and so by the store; tables end before it.
  auto budget = std::make_shared<MemoryBudget>(options.memory_bytes_max);
  const auto factory = [budget, threads = options.threads](const TableSpec& spec) {
    return std::make_unique<HostTable>(spec, budget.get(), RowOrder::kAsTheyCome, threads);
  };
  return std::make_unique<LocalStore>("the host store", factory, *options.clock);
}

std::unique_ptr<TableStore> MakeLocalStore(const LocalStoreOptions& options) {
  return MakeHostStore({.memory_bytes_max = options.memory_bytes_max});
}

}  // namespace strata
