#include "storage/gpu/gpu_store.h"

#include "storage/gpu/device_pool.h"
#include "storage/gpu/gpu_table.h"

namespace strata {

Result<std::unique_ptr<LocalStore>> MakeGpuStore(const GpuStoreOptions& options) {
  // Kept alive by the factory and so by the store; tables end before it.
  STRATA_ASSIGN(auto made, DevicePool::Make(options.device, options.memory_bytes));
  const std::shared_ptr<DevicePool> pool = std::move(made);
  const auto factory = [pool](const TableSpec& spec) {
    return std::make_unique<GpuTable>(spec, *pool);
  };
  return std::make_unique<LocalStore>("the GPU store", factory, *options.clock);
}

}  // namespace strata
