// A collection of item sets whose segments are on a GPU, as servers have them.
#pragma once

#include <vector>

#include "bench/harness/figure.h"

namespace strata::bench {

// Batches of queries beside the same collection without a GPU, all cores for both.
std::vector<Case> GpuCollectionCases();

}  // namespace strata::bench
