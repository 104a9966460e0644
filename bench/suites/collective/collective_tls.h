// Suite "collective": what TLS costs our own ranks.
#pragma once

#include <vector>

#include "bench/harness/figure.h"

namespace strata::bench {

// An allreduce by two ranks, over TLS beside the same without.
std::vector<Case> TlsCases();

}  // namespace strata::bench
