// Bounds that a split sets to leaves elsewhere in its tree, so that monotone constraints cost less
// than bounds by the middle of outputs: monotone_constraints_method = intermediate (C. Auguste, S.
// Malory, I. Smirnov, "A Better Method to Enforce Monotonic Constraints in Regression and
// Classification Trees", 2020).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/tree/feature_shape.h"
#include "kernels/tree/grown_tree.h"

namespace strata {

// What bounds the two sides of a monotone split, and who hears of it.
enum class MonotoneMethod : uint8_t {
  kBasic,         // the middle of both outputs, for good
  kIntermediate,  // each other's output; outputs of leaves below bound all that touch them
};

// Once the tree's last node has been split: bounds, by the outputs of its children, every leaf that
// a row may reach from one of them by a change of a monotone feature alone. Returns the leaves
// whose bounds have changed. `before`: of each node, the leaf that it was. One thread at a time.
//
// Leaves touch as in LightGBM, by the thresholds below the monotone split that parts them. Where a
// feature has missing values those count, too: they may be on both ways though no number is.
std::vector<size_t> BoundNeighbours(std::span<const FeatureShape> shapes,
                                    std::span<const GrownLeaf> before, GrownTree* tree);

}  // namespace strata
