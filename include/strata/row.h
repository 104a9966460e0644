// The key of a row, and the counters that a row has beside its value.
#pragma once

#include <cstdint>

namespace strata {

using Key = uint64_t;  // all 2^64 values are usable

// The part of a row that is neither value nor optimizer state. Zero in a row that was just made.
struct RowCounters {
  uint32_t frequency = 0;         // pushes that touched the row; stops at 2^32 - 1
  uint32_t checkpoint_epoch = 0;  // the last checkpoint epoch that holds the row
  uint64_t last_step = 0;         // optimizer time of the last push; lazy Adam goes by it
};
static_assert(sizeof(RowCounters) == 16);

}  // namespace strata
