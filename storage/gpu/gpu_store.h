// GpuStore: the TableStore of one process on GpuTables, all in the memory of one GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "storage/memory/local_store.h"

namespace strata {

struct GpuStoreOptions {
  int device = 0;
  size_t memory_bytes = 0;  // of the GPU, for all tables; taken at once
  // Rows that have no room there lie in host memory, up to so much of it. Nothing: they have none,
  // and pushes that make them are refused.
  std::optional<uint64_t> host_memory_bytes_max = std::nullopt;
  const Clock* clock = &RealClock();  // judges deadlines; outlives the store
};

// Errors as those of GpuTables::Open.
Result<std::unique_ptr<LocalStore>> MakeGpuStore(const GpuStoreOptions& options);

}  // namespace strata
