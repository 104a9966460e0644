// GrowColumn: what an oblivious tree may split by, as bins of its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata {

// Split b of a column sends the rows to the right whose bin is above b. Where the column is one of
// values (one-hot), it sends those to the right whose bin is b + 1.
struct GrowColumn {
  std::span<const uint8_t> bins;  // of each row, none above `splits`
  size_t splits = 0;              // up to 255
  bool is_value = false;
  // 1: values of leaves may not fall where a split goes right; -1: they may not rise; 0: they are
  // free. MonotoneLeaves says what that means for a tree.
  int8_t direction = 0;
};

// Whether both have the same bins, which lie at one place, and are split alike.
inline bool IsSameColumn(const GrowColumn& a, const GrowColumn& b) {
  return a.bins.data() == b.bins.data() && a.bins.size() == b.bins.size() && a.splits == b.splits &&
         a.is_value == b.is_value;
}

// A split by its column's place in the list of a tree's columns, and its own place there.
struct GrowSplit {
  size_t column = 0;
  size_t place = 0;
};

// Of each column the scores of its splits.
using LevelScores = std::vector<std::vector<double>>;

// By what splits are judged.
struct ScoreRule {
  bool is_cosine = true;
  double l2 = 0;           // added to the weights of a leaf; above 0
  size_t levels_max = 16;  // of a tree
};

}  // namespace strata
