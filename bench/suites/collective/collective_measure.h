// Suite "collective": how a configuration of a contender is timed, and what is measured.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "bench/suites/collective/rank_set.h"
#include "strata/status.h"

namespace strata::bench {

// Bytes of the whole vector: 8 B to 16 MiB.
std::vector<uint64_t> CollectiveSizes();

// Makes ready for the order, checks its result, and finds how many calls take about `round`. None:
// the contender has no such variant. kFailed: a wrong result, too.
Result<std::optional<RankOrder>> Calibrated(const RankSet& set, RankOrder order, TimeNs round);

// kFailed where the outcome is anything but done.
Result<RankAnswer> Done(const RankSet& set, const RankOrder& order);

}  // namespace strata::bench
