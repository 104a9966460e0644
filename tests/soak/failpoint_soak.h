// The failpoint soak: a server dies, or a call in it fails, at every failpoint of base/failpoint.h,
// many times each, at a random hit; the comparison with the oracle is that of the kill soak.
#pragma once

#include <cstdint>

#include "tests/soak/report.h"
#include "tests/soak/soak_cluster.h"

namespace strata::soak {

// `hits`: of each failpoint with each action. Needs a build with failpoints. Hits go into the
// report by name; a failpoint that was not reached often enough counts as wrong. Progress goes to
// stderr.
SoakReport RunFailpointSoak(uint64_t hits, const SoakClusterOptions& cluster);

}  // namespace strata::soak
