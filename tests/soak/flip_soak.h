// The flip soak: the whole data folder of a stopped server is damaged at one random place, and the
// server started on it. It has to refuse with an error that names the file, or to serve exactly
// what was acknowledged. The one exception are records missing at the very end of a log: that is a
// torn tail, which the server cuts, and says so; where the file ends exactly between two records
// nothing tells it from a shorter log.
#pragma once

#include <cstdint>

#include "tests/soak/report.h"
#include "tests/soak/soak_cluster.h"

namespace strata::soak {

struct FlipSoakOptions {
  uint64_t faults = 500;  // each on a fresh copy of the folder
  uint64_t seed = 1;
  TimeNs patience = 10 * kSecond;
};

// Progress goes to stderr.
SoakReport RunFlipSoak(const FlipSoakOptions& options);

}  // namespace strata::soak
