// Growth leaf by leaf told from a tree that may have grown further: which leaves it splits next,
// and in the end the tree that it makes. So several leaves may be split at a time, some of them
// ahead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tree/grow/grown_tree.h"
#include "kernels/tree/grow/growth.h"

namespace strata {

// A tree in the order in which it has grown, whatever that was.
struct KnownTree {
  const GrownTree& tree;
  std::span<const GrownLeaf> before;   // of each node: the leaf that it was
  std::span<const Split* const> best;  // of each leaf; !exists(): it cannot be split
  GrowPolicy policy = GrowPolicy::kLossGuide;
  size_t forced = 0;  // so many nodes, the first ones, come before all others
};

// The splits that growth leaf by leaf makes, at most so many, in its order: a node's number, or
// ~leaf where a leaf is not split yet (what its children would gain counts as nothing).
std::vector<int32_t> BestFirstOrder(const KnownTree& known, size_t splits_max);

// Of nodes taken in this order: the tree as it would have grown leaf by leaf, with nodes and leaves
// numbered so. `merged`: its leaves that are nodes of the known tree.
GrownTree TakeInOrder(const KnownTree& known, std::span<const int32_t> order,
                      std::vector<size_t>* merged);

}  // namespace strata
