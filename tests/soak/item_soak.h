// The kill soak of collections: kill -9 of servers under upserts, deletes and searches, restart,
// comparison of every document and of searches with a model.
#pragma once

#include <cstdint>

#include "tests/soak/report.h"
#include "tests/soak/soak_servers.h"

namespace strata::soak {

// `cycles`: kills, a new cluster with the next seed every 100. Progress goes to stderr. What the
// report calls doubled are documents that came back although they had been deleted.
SoakReport RunItemSoak(uint64_t cycles, const SoakClusterOptions& cluster);

}  // namespace strata::soak
