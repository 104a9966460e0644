// Cases of suite "trees" on a GPU: histograms of a level by number of bins, ours beside the two of
// bench/kernels/article_histogram.cuh.
#pragma once

#include <vector>

#include "bench/harness/figure.h"

namespace strata::bench {

// A case for each of 15, 32, 64, 128 and 255 bins. Each has the first level, of all rows, and a
// deeper one, of half of the rows in 32 leaves.
void AddGpuHistograms(std::vector<Case>* cases);

}  // namespace strata::bench
