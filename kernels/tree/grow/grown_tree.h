// GrownTree: a tree over bins, as growers make it, with the training rows of each leaf.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tree/bins/bin_matrix.h"
#include "kernels/tree/grow/partition.h"
#include "kernels/tree/split/split_search.h"

namespace strata {

struct GrownNode {
  Split split;
  int32_t left = 0;  // a node, or ~leaf
  int32_t right = 0;
  SplitLeaf leaf;  // what the node was before it was split
};

struct GrownLeaf {
  SplitLeaf leaf;
  size_t begin = 0;  // its rows in GrownTree::rows
  size_t count = 0;  // on this rank; leaf.rows are those of all ranks
  size_t depth = 0;
  int32_t parent = -1;   // the node above; -1: it is the root
  bool is_left = false;  // of the parent's children
};

struct GrownTree {
  std::vector<GrownNode> nodes;
  std::vector<GrownLeaf> leaves;
  std::span<const uint32_t> rows;  // all rows of the bag, leaf by leaf; the grower's

  std::span<const uint32_t> RowsOf(const GrownLeaf& leaf) const {
    return rows.subspan(leaf.begin, leaf.count);
  }
};

// Finds leaves of rows that were not grown with: out of the bag, or of other data with the same
// bins. Any number of threads.
class BinnedTraversal {
 public:
  // Both outlive it.
  BinnedTraversal(const GrownTree& tree, std::span<const FeatureShape> shapes);
  size_t LeafOf(const BinMatrix& bins, size_t row) const;

 private:
  const GrownTree& tree_;
  std::vector<SplitSides> sides_;  // of each node
};

}  // namespace strata
