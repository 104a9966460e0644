// BinBounds: what bounds the outputs of a leaf's children, by the bins of the feature that would
// part them. A leaf elsewhere bounds only those of its rows that it touches: a split may leave them
// all on one side, and then the other is free of it. monotone_constraints_method = advanced, the
// slow method of the paper that monotone_neighbours.h names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/tree/bins/bin_matrix.h"
#include "kernels/tree/grow/grown_tree.h"
#include "kernels/tree/split/feature_shape.h"
#include "worker/gbdt/grower/monotone_neighbours.h"

namespace strata {

// One thread at a time; works on all of the pool's.
class BinBounds {
 public:
  // All outlive it.
  BinBounds(const BinMatrix& bins, std::span<const FeatureShape> shapes, WorkPool& pool)
      : bins_(bins), shapes_(shapes), pool_(pool) {}

  // A tree of one leaf.
  void Start() { of_leaf_.assign(1, {}); }
  // Of the rows of one side of a split of the leaf by a number.
  OutputBounds OfSide(size_t leaf, const Split& split, bool is_left) const;
  // Both sides have the leaf's bounds, and each other's output if the split is monotone. What they
  // no longer touch still bounds them until they are renewed, as LightGBM has it, and may exclude
  // what does: then a bin's bounds cannot be kept. The right one is the tree's next leaf.
  void SplitLeaf(size_t leaf, const Split& split);
  // Those of leaves that a split elsewhere bounds, on the side where it does, from the tree as it
  // is now: of features that are `used`. `before`: of each node, the leaf that it was.
  void Renew(std::span<const BoundedLeaf> leaves, std::span<const GrownLeaf> before,
             const GrownTree& tree, std::span<const uint8_t> used);
  // Of a numeric feature's bins; empty: none is bounded.
  std::span<const OutputBounds> Of(size_t leaf, size_t feature) const;
  // The leaf is not going to be split.
  void Drop(size_t leaf) { of_leaf_[leaf] = {}; }

 private:
  std::vector<OutputBounds>& Needed(size_t leaf);

  const BinMatrix& bins_;
  const std::span<const FeatureShape> shapes_;
  WorkPool& pool_;
  std::vector<std::vector<OutputBounds>> of_leaf_;  // by bin, as in histograms
};

}  // namespace strata
