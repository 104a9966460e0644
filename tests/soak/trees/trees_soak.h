// Random trainings of trees, each measured in three ways (case_check.h).
#pragma once

#include <cstdint>
#include <string>

#include "tests/soak/report.h"

namespace strata::soak {

struct TreesSoakOptions {
  uint64_t cases = 0;
  uint64_t seed = 1;           // of the first case; the next one has the next seed
  std::string device = "cpu";  // a device_type
};

// Each difference is counted as wrong, with its seed and the case's conf among the examples.
SoakReport RunTreesSoak(const TreesSoakOptions& options);

}  // namespace strata::soak
