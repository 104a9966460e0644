// The engines that MakeTreeEngine chooses from.
#pragma once

#include <memory>

#include "worker/gbdt/engine/tree_engine.h"

namespace strata {

std::unique_ptr<TreeEngine> MakeCpuEngine(const TreeParameters& parameters, const TreeDataset& data,
                                          WorkPool& pool, const EngineOptions& options);

// On GPUs of this machine, for one rank.
Result<std::unique_ptr<TreeEngine>> MakeCudaEngine(std::span<const int> devices,
                                                   const TreeParameters& parameters,
                                                   const TreeDataset& data,
                                                   const EngineOptions& options);

}  // namespace strata
