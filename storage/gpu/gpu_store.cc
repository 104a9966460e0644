#include "storage/gpu/gpu_store.h"

#include <utility>

#include "storage/gpu/gpu_tables.h"
#include "storage/memory/host_table.h"
#include "storage/memory/memory_budget.h"

namespace strata {

Result<std::unique_ptr<LocalStore>> MakeLocalGpuStore(const GpuStoreOptions& options,
                                                      const Clock& clock) {
  // Kept alive by the factory and so by the store; tables end before it.
  STRATA_ASSIGN(auto made,
                GpuTables::Open({.ordinal = options.device, .memory_bytes = options.memory_bytes}));
  const std::shared_ptr<GpuTables> tables = std::move(made);
  LocalStore::TableFactory factory = [tables](const TableSpec& spec) {
    return tables->Make(spec, 0);
  };
  if (options.host_memory_bytes_max) {
    const auto budget = std::make_shared<MemoryBudget>(*options.host_memory_bytes_max);
    factory = [tables, budget](const TableSpec& spec) {
      return tables->MakeOver(spec, 0,
                              std::make_unique<HostTable>(spec, budget.get(), RowOrder::kByHome),
                              VictimOrder::kLeastRecent);
    };
  }
  return std::make_unique<LocalStore>("the GPU store", std::move(factory), clock);
}

Result<std::unique_ptr<TableStore>> MakeGpuStore(const GpuStoreOptions& options) {
  STRATA_ASSIGN(std::unique_ptr<LocalStore> store, MakeLocalGpuStore(options));
  return std::unique_ptr<TableStore>(std::move(store));
}

}  // namespace strata
