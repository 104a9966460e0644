// HostCounts: what the GPU has counted for a lookup, copied to the host.
#pragma once

#include <cstdint>

#include "kernels/hashmap/map_ref.h"
#include "storage/gpu/gpu_calls.cuh"

namespace strata {

// In pinned memory. It is there once the stream, or an event on it, has been waited for.
struct HostCounts {
  Counters counters;
  MapCounts map;
  uint32_t distinct;  // keys that are missing
};

}  // namespace strata
