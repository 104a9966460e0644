// The kill soak: cycles of load, kill -9 at a random moment, restart, comparison with the oracle.
#pragma once

#include <cstdint>
#include <string>

#include "tests/soak/report.h"
#include "tests/soak/soak_cluster.h"

namespace strata::soak {

struct KillSoakOptions {
  std::string kind = "server";  // or "client"
  uint64_t cycles = 200;
  SoakClusterOptions cluster;
};

// Progress goes to stderr.
SoakReport RunKillSoak(const KillSoakOptions& options);

}  // namespace strata::soak
