// ObliviousGrower: the splits of a tree whose levels have one split each, found as CatBoost finds
// them on CPUs (private/libs/algo/greedy_tensor_search.cpp of its sources).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/tree/oblivious/grow_column.h"
#include "worker/gbdt/catboost/train/grow/column_block.h"
#include "worker/gbdt/catboost/train/grow/fixed_rows.h"
#include "worker/gbdt/catboost/train/grow/tree_leaves.h"

namespace strata {

struct GrownObliviousTree {
  std::vector<GrowSplit> splits;
  std::vector<uint16_t> leaves;  // of each row; bit k of a leaf's number is that of split k
};

// Grows one tree after another, each as the caller says:
//
//   grower.Begin(gradients, weights);
//   grower.AddColumns(columns);
//   while (grower.levels() < depth) {
//     const std::optional<GrowSplit> chosen = ...;  // by grower.Score()
//     if (!chosen.has_value() || !grower.Split(*chosen)) break;
//   }
//   GrownObliviousTree tree = grower.Take();
//
// One thread at a time. Trees have the same bits for any number of threads.
class ObliviousGrower {
 public:
  static constexpr size_t kKeptBytesMax = size_t{2} << 30;

  // The pool outlives it. Histograms of a level are kept for the next one where they take no more
  // than `kept_bytes_max`; others are added up anew.
  ObliviousGrower(const ScoreRule& rule, WorkPool& pool, size_t kept_bytes_max = kKeptBytesMax)
      : rule_(rule), pool_(pool), kept_bytes_max_(kept_bytes_max), leaves_(pool) {}

  // A tree of one leaf, without columns. Of each row its gradients (output * rows + row) and its
  // weight, both times the row's own weight.
  void Begin(std::span<const double> gradients, std::span<const double> weights);
  // More columns, after those that are there. Their bins outlive the tree.
  void AddColumns(std::span<const GrowColumn> columns) { AddBlocks(columns, false); }
  // Likewise, where bins stay as they are for all trees: they are copied once for trees that get
  // the same columns first.
  void AddFixedColumns(std::span<const GrowColumn> columns) { AddBlocks(columns, true); }

  // Replaces gradients and weights from the next level on. All its histograms are added up anew.
  void SetGradients(std::span<const double> gradients, std::span<const double> weights);

  // What each split would make of the level; once a level. It holds until the next call.
  const LevelScores& Score();
  // Parts all leaves by a split. False: a split was redundant, which means that it parted no rows
  // beside the others. The first such split is left out, and the tree is at its end.
  bool Split(const GrowSplit& split);

  size_t levels() const { return splits_.size(); }
  GrownObliviousTree Take();

 private:
  struct Block {
    ColumnBlock block;
    size_t first_column = 0;
    size_t columns = 0;
  };

  void AddBlocks(std::span<const GrowColumn> columns, bool are_fixed);
  bool KeepsHistograms() const;

  const ScoreRule rule_;
  WorkPool& pool_;
  const size_t kept_bytes_max_;
  FixedRows rows_;
  TreeLeaves leaves_;
  std::vector<GrowColumn> columns_;
  std::vector<Block> blocks_;  // the first blocks_used_ are this tree's; the others keep memory
  size_t blocks_used_ = 0;
  LevelScores scores_;
  std::vector<GrowSplit> splits_;
  std::optional<size_t> redundant_;  // the split that has been left out, which ends the tree
};

}  // namespace strata
