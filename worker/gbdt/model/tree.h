// Tree: one decision tree over features' own values, as models have it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/tree/bins/category.h"
#include "kernels/tree/split/split_search.h"
#include "strata/status.h"
#include "worker/gbdt/data/bin_mapper.h"

namespace strata {

// A node tests one feature. A child is the number of a node, or ~leaf. Node 0 is the root; a tree
// of one leaf has no node.
struct TreeNode {
  int32_t feature = 0;
  // Numeric: values up to it, which may be infinite, go left. Categorical: which of the tree's sets
  // goes left.
  double threshold = 0;
  bool categorical = false;
  // Where a missing value goes. LightGBM's categorical nodes have it right, XGBoost's on either
  // side.
  bool default_left = false;
  MissingKind missing = MissingKind::kNone;
  int32_t left = 0;
  int32_t right = 0;
  double gain = 0;
  double value = 0;   // the output if it were a leaf
  double weight = 0;  // sum of hessians
  int64_t rows = 0;   // of the training data

  bool operator==(const TreeNode&) const = default;
};

struct TreeLeaf {
  double value = 0;  // its output; the learning rate is in it
  double weight = 0;
  int64_t rows = 0;

  bool operator==(const TreeLeaf&) const = default;
};

struct Tree {
  std::vector<TreeNode> nodes;
  std::vector<TreeLeaf> leaves;
  // Set k of categories is bits of words[set_begins[k]] on: bit c % 32 of word c / 32.
  std::vector<uint32_t> set_begins = {0};
  std::vector<uint32_t> set_words;
  double shrinkage = 1;

  bool operator==(const Tree&) const = default;

  // Whether the set holds the category that the value is.
  bool InSet(size_t set, double value) const {
    const int32_t found = CategoryOf(value);
    if (found == kNoCategory) return false;
    const auto category = static_cast<uint32_t>(found);
    const uint32_t begin = set_begins[set];
    if (category / 32 >= set_begins[set + 1] - begin) return false;
    return (set_words[begin + category / 32] >> (category % 32) & 1) != 0;
  }

  bool GoesLeft(const TreeNode& node, double value) const {
    if (node.categorical) {
      if (std::isnan(value)) return node.default_left;
      return InSet(static_cast<size_t>(node.threshold), value);
    }
    if (std::isnan(value) && node.missing != MissingKind::kNaN) value = 0;
    if ((node.missing == MissingKind::kZero && std::fabs(value) <= kZeroThreshold) ||
        (node.missing == MissingKind::kNaN && std::isnan(value))) {
      return node.default_left;
    }
    return value <= node.threshold;
  }

  // Multiplies all outputs.
  void Scale(double factor) {
    for (TreeLeaf& leaf : leaves) leaf.value *= factor;
    for (TreeNode& node : nodes) node.value *= factor;
    shrinkage *= factor;
  }

  // Adds to all outputs, which then are no longer so many times what was grown.
  void AddBias(double bias) {
    if (bias == 0) return;
    for (TreeLeaf& leaf : leaves) leaf.value += bias;
    for (TreeNode& node : nodes) node.value += bias;
    shrinkage = 1;
  }

  std::vector<double> LeafValues() const {
    std::vector<double> values;
    values.reserve(leaves.size());
    for (const TreeLeaf& leaf : leaves) values.push_back(leaf.value);
    return values;
  }

  // The leaf of a row of all features' values.
  size_t LeafOf(std::span<const double> row) const {
    if (nodes.empty()) return 0;
    int32_t at = 0;
    while (at >= 0) {
      const TreeNode& node = nodes[static_cast<size_t>(at)];
      at = GoesLeft(node, row[static_cast<size_t>(node.feature)]) ? node.left : node.right;
    }
    const int32_t leaf = ~at;
    return static_cast<size_t>(leaf);
  }

  // Nodes on the longest way to a leaf.
  size_t Depth() const;
};

// What model files may hold (LightGBM's own limit is 131,072 leaves).
constexpr size_t kTreeLeavesMax = 1 << 22;

// OK if every node and leaf is the child of one node and is reached from the root. `where` stands
// in the message.
Status CheckTreeShape(const Tree& tree, const std::string& where);

}  // namespace strata
