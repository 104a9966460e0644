// ColumnBlock: some columns of a tree, whose histograms are made in one go over the rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/large_array.h"
#include "base/thread/work_pool.h"
#include "kernels/tree/gradient/fixed_point.h"
#include "kernels/tree/oblivious/grow_column.h"
#include "worker/gbdt/catboost/train/grow/fixed_rows.h"
#include "worker/gbdt/catboost/train/grow/tree_leaves.h"

namespace strata {

// Any number of threads, each with blocks of its own.
class ColumnBlock {
 public:
  static constexpr size_t kColumnsMax = 16;

  // Copies the bins, row by row. Up to kColumnsMax columns of the same rows. If they are fixed, the
  // copy of the last call is used where it was of the same columns.
  void SetColumns(std::span<const GrowColumn> columns, bool are_fixed, WorkPool& pool);

  // Of each column the scores of its splits, were all leaves split by it; once a level. `keeps`:
  // there is memory for the histograms of all leaves, and the next level's come from them. Then
  // only the smaller leaf of each pair is added up from rows. `directions` are those of the tree's
  // splits; with any, or columns that have one, there is one output.
  void Score(const TreeLeaves& leaves, const FixedRows& rows, const ScoreRule& rule,
             std::span<const int8_t> directions, bool keeps, std::span<std::vector<double>> scores);

  // The rows' gradients have changed: the next level's histograms do not come from this one's.
  void ForgetHistograms() { has_kept_ = false; }
  // Histograms of a leaf and output, in sums.
  size_t histogram_size() const { return begins_.back(); }

 private:
  class Scorer;

  std::vector<GrowColumn> columns_;
  std::vector<size_t> begins_;     // of each column's bins in a histogram, and the end
  LargeArray<uint8_t> bins_;       // row after row, a power of two of bytes each
  LargeArray<GradientSums> kept_;  // leaf after leaf, of each its outputs
  bool has_kept_ = false;
  bool are_fixed_ = false;
};

}  // namespace strata
