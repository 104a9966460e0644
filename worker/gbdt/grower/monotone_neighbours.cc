#include "worker/gbdt/grower/monotone_neighbours.h"

#include <algorithm>

#include "worker/gbdt/grower/leaf_neighbours.h"

namespace strata {

std::vector<BoundedLeaf> BoundNeighbours(std::span<const FeatureShape> shapes,
                                         std::span<const GrownLeaf> before, GrownTree* tree) {
  std::vector<BoundedLeaf> bounded;
  const Split& split = tree->nodes.back().split;
  VisitNeighbours(shapes, before, *tree, before.back(), [&](const Neighbour& neighbour) {
    OutputBounds& bounds = tree->leaves[neighbour.leaf].leaf.bounds;
    const OutputBounds were = bounds;
    for (const bool is_left : {true, false}) {
      if (!neighbour.box.Overlaps(neighbour.own_box.Narrowed(split, is_left, shapes))) continue;
      const double output = is_left ? split.left_output : split.right_output;
      if (neighbour.is_above) {
        bounds.min = std::max(bounds.min, output);
      } else {
        bounds.max = std::min(bounds.max, output);
      }
    }
    bounded.push_back({.leaf = neighbour.leaf,
                       .from_below = neighbour.is_above,
                       .changed = bounds.min > were.min || bounds.max < were.max});
  });
  std::ranges::sort(bounded, {}, &BoundedLeaf::leaf);
  return bounded;
}

}  // namespace strata
