// Bounds that a split sets to leaves elsewhere in its tree, so that monotone constraints cost less
// than bounds by the middle of outputs: monotone_constraints_method = intermediate (C. Auguste, S.
// Malory, I. Smirnov, "A Better Method to Enforce Monotonic Constraints in Regression and
// Classification Trees", 2020).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tree/grow/grown_tree.h"
#include "kernels/tree/split/feature_shape.h"

namespace strata {

// What bounds the two sides of a monotone split, and who hears of it.
enum class MonotoneMethod : uint8_t {
  kBasic,         // the middle of both outputs, for good
  kIntermediate,  // each other's output; outputs of leaves below bound all that touch them
  kAdvanced,      // and of a child only those that touch its own side of the split: bin_bounds.h
};

// A leaf that the outputs of a split bound.
struct BoundedLeaf {
  size_t leaf;
  bool from_below;  // its output may not be smaller; else not larger
  bool changed;     // its bounds are narrower than they were
};

// Once the tree's last node has been split: bounds, by the outputs of its children, every leaf that
// touches one of them. Returns those leaves, which ascend. `before`: of each node, the leaf that it
// was. One thread at a time.
std::vector<BoundedLeaf> BoundNeighbours(std::span<const FeatureShape> shapes,
                                         std::span<const GrownLeaf> before, GrownTree* tree);

}  // namespace strata
