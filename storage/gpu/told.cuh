// HotTable::Told: what a GPU has counted, on its way to the host.
#pragma once

#include <array>
#include <cstdint>

#include "storage/gpu/gpu_calls.cuh"
#include "storage/gpu/hot_table.h"

namespace strata {

// In pinned memory: what was asked for is there once the stream, or an event on it, has been waited
// for.
struct HotTable::Told {
  Counters counters;
  MapCounts map;
  uint32_t distinct;  // keys that are missing
  struct Hint {
    uint32_t distinct;  // as above
    HintRows rows;
  };
  std::array<Hint, 2> hints;  // every second one has the same

  Hint& OfHint(uint64_t hint) { return hints[hint % hints.size()]; }
};

}  // namespace strata
