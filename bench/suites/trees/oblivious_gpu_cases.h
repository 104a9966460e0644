// Cases of suite "trees" on a GPU: oblivious trees beside recorded figures of CatBoost.
#pragma once

#include <vector>

#include "bench/harness/figure.h"

namespace strata::bench {

// From bins that are drawn: borders and bins are not measured.
void AddObliviousTreesOnGpu(std::vector<Case>* cases);

}  // namespace strata::bench
