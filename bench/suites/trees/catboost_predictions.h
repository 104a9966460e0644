// Cases of suite "trees": predictions with models of CatBoost.
#pragma once

#include <vector>

#include "bench/harness/figure.h"

namespace strata::bench {

// On the CPU, beside CatBoost's own: numbers alone, and categories with statistics.
void AddCatBoostPredictions(std::vector<Case>* cases);

// The same on the first GPU, beside ours on the CPU. Rows begin in the host's memory, and what is
// predicted ends there.
void AddCatBoostGpuPredictions(std::vector<Case>* cases);

}  // namespace strata::bench
