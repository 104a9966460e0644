// CatBoostPredictor: what the trees of a model of CatBoost say about rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/catboost_rows.h"
#include "worker/gbdt/catboost/split_bins.h"

namespace strata {

// Immutable; any number of threads.
class CatBoostPredictor {
 public:
  // The model outlives it.
  explicit CatBoostPredictor(const CatBoostModel& model);

  // Writes the raw values, rows.rows() * outputs of them: those of a row stand side by side. Sums
  // are in double, in the order of the trees.
  void Raw(const CatBoostRows& rows, std::span<double> out) const;

 private:
  void AddOblivious(const CatBoostTree& tree, const BinSplit* splits, std::span<const uint8_t> bins,
                    std::span<double> out) const;
  void AddOther(const CatBoostTree& tree, std::span<const uint8_t> bins, size_t rows,
                std::span<double> out) const;
  void AddLeaf(const CatBoostTree& tree, size_t leaf, double* out) const;

  const CatBoostModel& model_;
  SplitBins bins_;
  std::vector<BinSplit> tree_splits_;  // of oblivious trees, tree after tree
};

}  // namespace strata
