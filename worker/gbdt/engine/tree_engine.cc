#include "worker/gbdt/engine/tree_engine.h"

#include <numeric>
#include <vector>

#include "base/log.h"
#include "kernels/core/device_choice.h"
#include "worker/gbdt/engine/engines.h"

namespace strata {

Result<std::unique_ptr<TreeEngine>> MakeTreeEngine(const TreeParameters& parameters,
                                                   const TreeDataset& data, WorkPool& pool,
                                                   const EngineOptions& options) {
  STRATA_ASSIGN(const DeviceChoice choice, ParseDevice(parameters.device_type));
  if (choice.kind == DeviceKind::kCpu) return MakeCpuEngine(parameters, data, pool, options);
  std::vector<int> devices(static_cast<size_t>(parameters.num_gpu));
  std::iota(devices.begin(), devices.end(), choice.ordinal.value_or(0));
  Result<std::unique_ptr<TreeEngine>> cuda = MakeCudaEngine(devices, parameters, data, options);
  if (cuda.ok() || choice.kind.has_value()) return cuda;
  Log(LogLevel::kInfo, "device = auto: trees grow on the CPU: {}", cuda.status().message());
  return MakeCpuEngine(parameters, data, pool, options);
}

}  // namespace strata
