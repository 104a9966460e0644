#include "worker/gbdt/boost/to_model_tree.h"

namespace strata {
namespace {

// Adds the bits of the categories that these bins hold as one more set of the tree.
void AddSet(const std::vector<uint32_t>& bins, std::span<const int32_t> categories, Tree* tree) {
  const size_t begin = tree->set_words.size();
  for (const uint32_t bin : bins) {
    const auto category = static_cast<uint32_t>(categories[bin]);
    const size_t word = begin + category / 32;
    if (tree->set_words.size() <= word) tree->set_words.resize(word + 1, 0);
    tree->set_words[word] |= 1U << (category % 32);
  }
  tree->set_begins.push_back(static_cast<uint32_t>(tree->set_words.size()));
}

}  // namespace

Tree ToModelTree(const GrownTree& grown, const FeatureBinning& features, const GradientUnits& units,
                 double min_gain_to_split) {
  Tree tree;
  for (const GrownNode& grown_node : grown.nodes) {
    const Split& split = grown_node.split;
    const auto used = static_cast<size_t>(split.feature);
    const BinMapper& mapper = features.mapper(used);
    TreeNode node = {.feature = static_cast<int32_t>(features.used[used]),
                     .categorical = split.categorical,
                     .default_left = split.default_left && !split.categorical,
                     .missing = mapper.shape().missing,
                     .left = grown_node.left,
                     .right = grown_node.right,
                     .gain = split.gain + min_gain_to_split,
                     .value = grown_node.leaf.output,
                     .weight = static_cast<double>(grown_node.leaf.sums.hessian) * units.hessian,
                     .rows = grown_node.leaf.rows};
    if (split.categorical) {
      node.threshold = static_cast<double>(tree.set_begins.size() - 1);
      AddSet(split.left_bins, mapper.categories(), &tree);
    } else {
      node.threshold = mapper.UpperBound(split.threshold);
    }
    tree.nodes.push_back(node);
  }
  for (const GrownLeaf& leaf : grown.leaves) {
    tree.leaves.push_back({.value = leaf.leaf.output,
                           .weight = static_cast<double>(leaf.leaf.sums.hessian) * units.hessian,
                           .rows = leaf.leaf.rows});
  }
  return tree;
}

}  // namespace strata
