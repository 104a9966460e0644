// The kill soak: cycles of load, kill -9 of servers at a random moment, restart, comparison with
// the oracle.
#pragma once

#include <cstdint>

#include "tests/soak/report.h"
#include "tests/soak/soak_cluster.h"

namespace strata::soak {

// `cycles`: kills, a new cluster with the next seed every 100. Progress goes to stderr.
SoakReport RunKillSoak(uint64_t cycles, const SoakClusterOptions& cluster);

}  // namespace strata::soak
