#include "storage/gpu/gpu_store.h"

#include "storage/gpu/gpu_tables.h"

namespace strata {

Result<std::unique_ptr<LocalStore>> MakeGpuStore(const GpuStoreOptions& options) {
  // Kept alive by the factory and so by the store; tables end before it.
  STRATA_ASSIGN(auto made,
                GpuTables::Open({.ordinal = options.device, .memory_bytes = options.memory_bytes}));
  const std::shared_ptr<GpuTables> tables = std::move(made);
  const auto factory = [tables](const TableSpec& spec) { return tables->Make(spec, 0); };
  return std::make_unique<LocalStore>("the GPU store", factory, *options.clock);
}

}  // namespace strata
