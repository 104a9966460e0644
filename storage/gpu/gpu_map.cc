#include "strata/gpu/gpu_map.h"

#include <utility>

#include "storage/gpu/device_map.h"
#include "storage/gpu/device_pool.h"

namespace strata {

struct GpuMap::Impl {
  Exec exec;
  std::unique_ptr<DevicePool> pool;
  std::unique_ptr<DeviceMap> map;  // goes first
};

GpuMap::GpuMap(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GpuMap::~GpuMap() = default;

Result<std::unique_ptr<GpuMap>> GpuMap::Make(const Exec& exec, const GpuMapOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->exec = exec;
  STRATA_ASSIGN(impl->pool, DevicePool::Make(exec.ordinal, options.memory_bytes));
  STRATA_ASSIGN(impl->map, DeviceMap::Make(exec, *impl->pool,
                                           {.dim = options.dim,
                                            .state_width = options.state_width,
                                            .rows_max = options.rows_max}));
  return std::unique_ptr<GpuMap>(new GpuMap(std::move(impl)));
}

Status GpuMap::MakeRoom(uint64_t rows) { return impl_->map->MakeRoom(impl_->exec, rows); }
const MapRef& GpuMap::ref() const { return impl_->map->ref(); }
Result<MapCounts> GpuMap::Counts() const { return impl_->map->Counts(impl_->exec); }

}  // namespace strata
