// LeafOrder: the rows of a tree, leaf after leaf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "worker/gbdt/catboost/train/oblivious_tree.h"

namespace strata {

class LeafOrder {
 public:
  explicit LeafOrder(const ObliviousTree& tree)
      : begins_(tree.leaf_count() + 1), rows_(tree.leaves.size()) {
    for (const uint16_t leaf : tree.leaves) ++begins_[leaf + size_t{1}];
    for (size_t leaf = 1; leaf < begins_.size(); ++leaf) begins_[leaf] += begins_[leaf - 1];
    std::vector<size_t> next(begins_.begin(), begins_.end() - 1);
    for (size_t row = 0; row < rows_.size(); ++row) {
      rows_[next[tree.leaves[row]]++] = static_cast<uint32_t>(row);
    }
  }

  // Ascending.
  std::span<const uint32_t> rows(size_t leaf) const {
    return std::span(rows_).subspan(begins_[leaf], begins_[leaf + 1] - begins_[leaf]);
  }

 private:
  std::vector<size_t> begins_;  // of each leaf, and the end
  std::vector<uint32_t> rows_;
};

}  // namespace strata
