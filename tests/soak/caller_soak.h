// The caller soak: workers of a job, clients and strata-admin are killed with kill -9 while they
// push, take checkpoints and restore them. The servers must go on serving, lose nothing, and
// whoever comes next must be able to do the same.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "tests/soak/report.h"

namespace strata::soak {

struct CallerSoakOptions {
  uint64_t cycles = 300;  // kills, shared evenly by all kinds
  uint64_t seed = 1;
  TimeNs patience = 10 * kSecond;
};

// The report tells the kills of each kind, how many of them were demonstrably in the middle of it,
// and the longest wait. Progress goes to stderr.
SoakReport RunCallerSoak(const CallerSoakOptions& options);

}  // namespace strata::soak
