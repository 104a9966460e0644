// Cases of suite "trees": oblivious trees on the CPU beside CatBoost's.
#pragma once

#include <vector>

#include "bench/harness/figure.h"

namespace strata::bench {

// The same arrays and parameters, as many threads each as there are cores.
void AddObliviousTrees(std::vector<Case>* cases);

}  // namespace strata::bench
