// Random searches by every engine of a device, each compared with a plain reference: every metric,
// few and many answers, thresholds, filters, queries of mixed lengths together, ties everywhere.
#pragma once

#include <cstdint>

#include "tests/soak/report.h"

namespace strata::soak {

struct SetsSoakOptions {
  uint64_t cases = 0;  // a batch of queries with a goal
  uint64_t seed = 1;
  uint64_t documents = 0;  // the most; the first case has so many
  bool on_gpu = false;
  bool spoil = false;  // answers, before they are compared
};

// An error is one of the device, before the first case.
Result<SoakReport> RunSetsSoak(const SetsSoakOptions& options);

}  // namespace strata::soak
