// GpuStore: the TableStore of one process on GpuTables, all in the memory of one GPU.
#pragma once

#include <cstddef>
#include <memory>

#include "base/clock.h"
#include "storage/memory/local_store.h"

namespace strata {

struct GpuStoreOptions {
  int device = 0;
  size_t memory_bytes = 0;            // of the GPU, for all tables; taken at once
  const Clock* clock = &RealClock();  // judges deadlines; outlives the store
};

// Errors as those of GpuTables::Open.
Result<std::unique_ptr<LocalStore>> MakeGpuStore(const GpuStoreOptions& options);

}  // namespace strata
