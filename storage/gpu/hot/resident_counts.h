// ResidentCounts: what a hot table knows of the rows on its GPU without asking the GPU.
#pragma once

#include <cstdint>

namespace strata {

// The parts of one table share it, on the table's thread.
struct ResidentCounts {
  // The number of the operation. A row that an operation uses carries it, and stays until the next.
  uint64_t tick = 1;
  uint64_t most = 0;      // rows on the GPU, at most
  uint64_t copies = 0;    // of them, those whose key the table below knows
  uint64_t gone = 0;      // rows that have left the GPU so far
  uint64_t moved_up = 0;  // rows that have come from below so far
};

}  // namespace strata
