// Pulls at a given rate, whether earlier ones have been answered or not (an open loop): what a
// latency is worth when nobody waits politely.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "storage/table.h"
#include "strata/status.h"

namespace strata::bench {

struct PacedPulls {
  TableId table{};
  uint32_t dim = 16;
  size_t batch = 4096;
  std::span<const Key> keys;  // a multiple of `batch`, used in a circle
  double batches_a_second = 0;
};

// Latencies, from the moment at which each pull was due to its answer, of the pulls that were due
// within `duration`.
Result<std::vector<TimeNs>> RunPaced(TableStore& store, const PacedPulls& pulls, TimeNs duration);

// Batches a second that one client gets, four under way at a time.
Result<double> PeakPulls(TableStore& store, const PacedPulls& pulls, TimeNs duration);

}  // namespace strata::bench
