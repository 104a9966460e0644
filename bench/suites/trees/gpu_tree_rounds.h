// Cases of suite "trees" on a GPU beside whole trainings: rounds of objectives whose gradients are
// of more than a row's own score, or whose leaves are renewed, metrics of a round, and prediction.
#pragma once

#include <vector>

#include "bench/harness/figure.h"

namespace strata::bench {

void AddGpuTreeRounds(std::vector<Case>* cases);

}  // namespace strata::bench
