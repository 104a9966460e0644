// A TableStore in the memory of one GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "strata/status.h"
#include "strata/table_store.h"

namespace strata {

// kNotFound, saying how many there are, when this process sees no GPU of that number.
Status CheckGpu(int device);

struct GpuStoreOptions {
  int device = 0;
  size_t memory_bytes = 0;  // of the GPU, for all tables; taken at once
  // Rows that find no room there go to host memory, which may hold this much of them. nullopt: host
  // memory holds none, and a push that would make such a row is refused.
  std::optional<uint64_t> host_memory_bytes_max = std::nullopt;
};

// An empty store. Thread-safe. A failure of the GPU is final for the store: it and everything later
// return kFailed, which says how the GPU failed. kNotFound: there is no such GPU. kFailed: it has
// not so much memory free; says how much is.
Result<std::unique_ptr<TableStore>> MakeGpuStore(const GpuStoreOptions& options);

}  // namespace strata
