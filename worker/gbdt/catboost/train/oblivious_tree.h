// ObliviousTree: a tree whose levels have one split each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata {

struct ObliviousTree {
  std::vector<uint32_t> splits;  // of the model; bit k of a leaf's number is that of split k
  std::vector<uint16_t> leaves;  // of each row
  // Of each split the direction of its column, which binds values of leaves; empty: all are free.
  std::vector<int8_t> directions = {};
  size_t leaf_count() const { return size_t{1} << splits.size(); }
};

}  // namespace strata
