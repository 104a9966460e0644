// Trees of CatBoost's models over columns of bins: oblivious ones, whose leaf's number has a bit
// for each split, and others, whose nodes lead to one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/tree/score/bin_columns.h"

namespace strata {

// Children of a node: the places of nodes, or ~leaf.
struct BinChildren {
  int32_t left = 0;  // where the split's bit is not set
  int32_t right = 0;
};

struct BinTree {
  size_t first_split = 0;
  uint32_t splits = 0;  // of an oblivious tree at most 16; of another one, its nodes
  size_t first_value = 0;
};

// Sums of leaves times the scale, plus the bias: numbers of a row, `outputs` of them.
struct BinForestView {
  std::span<const BinTree> trees;
  std::span<const BinSplit> splits;       // tree after tree
  std::span<const BinChildren> children;  // of as many nodes; empty: all trees are oblivious
  std::span<const double> values;         // tree after tree: leaf * outputs + output
  std::span<const double> bias;           // one an output
  double scale = 1;

  size_t outputs() const { return bias.size(); }
};

}  // namespace strata
