// The engines that MakeTreeEngine chooses from.
#pragma once

#include <memory>

#include "kernels/tree/grow/gpu_leaves.h"
#include "worker/gbdt/engine/tree_engine.h"

namespace strata {

// On the host; unless `gpu` is null, that has the rows.
Result<std::unique_ptr<TreeEngine>> MakeCpuEngine(const TreeDataset& data, WorkPool& pool,
                                                  const EngineOptions& options,
                                                  std::unique_ptr<GpuLeaves> gpu = nullptr);

// On GPUs of this machine, for one rank.
Result<std::unique_ptr<TreeEngine>> MakeCudaEngine(std::span<const int> devices,
                                                   const TreeDataset& data,
                                                   const EngineOptions& options);

}  // namespace strata
