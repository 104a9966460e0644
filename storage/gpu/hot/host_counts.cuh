// HostCounts: what the GPU has counted for a lookup, copied to the host.
#pragma once

#include <cstdint>

#include "storage/gpu/gpu_calls.cuh"
#include "strata/gpu/map_ref.h"

namespace strata {

// In pinned memory. It is there once the stream, or an event on it, has been waited for.
struct HostCounts {
  Counters counters;
  MapCounts map;
  uint32_t distinct;  // keys that are missing
};

}  // namespace strata
