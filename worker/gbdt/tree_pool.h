// The threads that train trees.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <thread>

#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "worker/gbdt/parameters/machine_parameters.h"

namespace strata {

// As many as num_threads says, the calling one among them. Errors as WorkPool::Start.
inline Result<std::unique_ptr<WorkPool>> StartTreePool(const MachineParameters& machine) {
  const int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const int64_t threads = machine.num_threads > 0 ? machine.num_threads : cores;
  return WorkPool::Start("tree", static_cast<int>(threads) - 1, ThreadWait::kSpinFirst);
}

}  // namespace strata
