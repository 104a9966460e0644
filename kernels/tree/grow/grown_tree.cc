#include "kernels/tree/grow/grown_tree.h"

namespace strata {

BinnedTraversal::BinnedTraversal(const GrownTree& tree, std::span<const FeatureShape> shapes)
    : tree_(tree) {
  sides_.reserve(tree.nodes.size());
  for (const GrownNode& node : tree.nodes) {
    sides_.emplace_back(shapes[static_cast<size_t>(node.split.feature)], node.split);
  }
}

size_t BinnedTraversal::LeafOf(const BinMatrix& bins, size_t row) const {
  int32_t at = tree_.nodes.empty() ? ~0 : 0;
  while (at >= 0) {
    const GrownNode& node = tree_.nodes[static_cast<size_t>(at)];
    const uint32_t bin = bins.BinAt(static_cast<size_t>(node.split.feature), row);
    at = sides_[static_cast<size_t>(at)].IsLeft(bin) ? node.left : node.right;
  }
  return static_cast<size_t>(~at);
}

}  // namespace strata
