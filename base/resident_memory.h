// How much memory a process holds: for status and metrics.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace strata {

// Bytes of this process that are in memory; 0 where the system does not say. Thread-safe.
uint64_t ResidentBytes();
// The same of another process; 0 also when there is none.
uint64_t ResidentBytesOf(pid_t process);

}  // namespace strata
