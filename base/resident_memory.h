// How much memory this process holds: for status and metrics.
#pragma once

#include <cstdint>

namespace strata {

// Bytes of the process that are in memory; 0 where the system does not say. Thread-safe.
uint64_t ResidentBytes();

}  // namespace strata
