// Which leaves of a tree touch: where a row of one may reach the other by a change of one monotone
// feature alone, so that the output of one bounds that of the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernels/tree/grow/grown_tree.h"
#include "kernels/tree/split/feature_shape.h"

namespace strata {

// Of a feature, what rows have that take one way: bins above `low` and up to `high`, but for that
// of missing values.
struct BinRange {
  int32_t feature = 0;
  int64_t low = -1;
  int64_t high = 0;
  bool missing = false;      // and no value
  int64_t missing_bin = -1;  // -1: there is none

  // Whether a bin above `above` and up to `up_to` holds values.
  bool HasValuesIn(int64_t above, int64_t up_to) const {
    const bool holds_missing = above < missing_bin && missing_bin <= up_to;
    return up_to - above > (holds_missing ? 1 : 0);
  }
  bool empty() const { return !missing && !HasValuesIn(low, high); }
  BinRange Narrowed(const Split& split, bool is_left) const;
  // What both have.
  BinRange Common(const BinRange& other) const;
  template <typename Call>
  void ForBins(const Call& call) const {
    for (int64_t bin = low + 1; bin <= high; ++bin) {
      if (bin != missing_bin) call(static_cast<size_t>(bin));
    }
    if (missing) call(static_cast<size_t>(missing_bin));
  }
};

// What rows may have of a feature.
BinRange AllBins(int32_t feature, const FeatureShape& shape);

// What rows have that take one way down from a node. Sets of categories do not narrow it.
class LeafBox {
 public:
  LeafBox Narrowed(const Split& split, bool is_left, std::span<const FeatureShape> shapes) const;
  bool Overlaps(const LeafBox& other) const;
  // What is left of what narrows this box, of rows that are in the other one, too.
  LeafBox Within(const LeafBox& other) const;
  // Null: rows may have any.
  const BinRange* Find(int32_t feature) const;

 private:
  std::vector<BinRange> ranges_;
};

struct Neighbour {
  size_t leaf;
  // What its rows have, and those of whom it is a neighbour, below the split that parts both.
  const LeafBox& box;
  const LeafBox& own_box;
  int32_t feature;  // of that split
  bool is_above;    // its output may not be smaller; else not larger
};

// What a leaf's rows have. `before`: of each node, the leaf that it was.
LeafBox BoxOf(std::span<const FeatureShape> shapes, std::span<const GrownLeaf> before,
              const GrownTree& tree, const GrownLeaf& leaf);

// Calls `visit` once for each neighbour of a leaf, or of what was one.
//
// Leaves touch as in LightGBM, by the thresholds below the monotone split that parts them. Where a
// feature has missing values those count, too: they may be on both ways though no number is.
void VisitNeighbours(std::span<const FeatureShape> shapes, std::span<const GrownLeaf> before,
                     const GrownTree& tree, const GrownLeaf& leaf,
                     const std::function<void(const Neighbour&)>& visit);

}  // namespace strata
