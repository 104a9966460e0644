// MonotoneScores: scores of a column's splits in a tree some of whose leaves' values may not fall
// along a feature, as CatBoost has them (private/libs/algo/scoring.cpp of its sources).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tree/gradient/fixed_point.h"
#include "kernels/tree/oblivious/grow_column.h"
#include "worker/gbdt/catboost/train/monotone_leaves.h"

namespace strata {

// Of one output. It keeps the sums of all leaves for each split, which plain scores need not.
class MonotoneScores {
 public:
  // `directions` are those of the tree's splits so far.
  MonotoneScores(std::span<const int8_t> directions, const GrowColumn& column);

  // Whether values are bound where a column would split so: else plain scores are the same.
  static bool AreNeeded(std::span<const int8_t> directions, const GrowColumn& column);

  // Sets a leaf's sums from the histogram of the column. A leaf without a call has none.
  void Set(size_t leaf, const GradientSums* bins, const GradientUnits& units);
  // Writes the scores. Leaves have the values G / (W + l2), moved along the chains of directed
  // splits until they do not fall; what they add to a score is as in SplitScores.
  void Finish(bool is_cosine, double l2, std::span<double> scores) const;

 private:
  struct Sums {
    double gradient = 0;
    double weight = 0;
  };

  const bool is_value_;
  const size_t splits_;
  const size_t leaves_;  // before the split
  const MonotoneLeaves monotone_;
  std::vector<Sums> sums_;  // split after split, of the leaves that it makes
};

}  // namespace strata
