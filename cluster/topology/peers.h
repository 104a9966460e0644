// Which ranks a rank needs links to.
#pragma once

#include <vector>

#include "cluster/topology/halving.h"

namespace strata {

// The peers of `rank` in the Bruck map (both directions) and in the halving map of `form`, with its
// pair's neighbour: ascending, without rank itself. Symmetric: a needs b exactly when b needs a.
std::vector<int> NeededPeers(int world, int rank, HalvingForm form);

}  // namespace strata
