// The engines that MakeTreeEngine chooses from.
#pragma once

#include <memory>

#include "worker/gbdt/engine/tree_engine.h"

namespace strata {

std::unique_ptr<TreeEngine> MakeCpuEngine(const TreeParameters& parameters, const TreeDataset& data,
                                          WorkPool& pool, const EngineOptions& options);

// On one GPU, for one rank.
Result<std::unique_ptr<TreeEngine>> MakeCudaEngine(int device, const TreeParameters& parameters,
                                                   const TreeDataset& data,
                                                   const EngineOptions& options);

}  // namespace strata
