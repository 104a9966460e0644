// Which ranks a rank has links to from the start.
#pragma once

#include <vector>

namespace strata {

// The ranks at a distance of a power of two, in both directions: ascending, without rank itself, at
// most 2 ceil(lg n). Rings, Bruck's maps, the barrier and binomial trees of any root need no
// others. Symmetric: a has b exactly when b has a.
std::vector<int> CirculantPeers(int world, int rank);

}  // namespace strata
