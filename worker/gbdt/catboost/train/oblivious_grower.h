// ObliviousGrower: the splits of a tree whose levels have one split each, found as CatBoost finds
// them on CPUs (private/libs/algo/greedy_tensor_search.cpp and score_calcers.* of its sources).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"
#include "worker/gbdt/catboost/train/fit_rows.h"

namespace strata {

struct ObliviousTree {
  std::vector<uint32_t> splits;  // of the model; bit k of a leaf's number is that of split k
  std::vector<uint16_t> leaves;  // of each row
  size_t leaf_count() const { return size_t{1} << splits.size(); }
};

// One thread at a time.
class ObliviousGrower {
 public:
  // All outlive it. The model has no features but numbers, with up to 255 borders each. `l2` is
  // added to the weights of a leaf.
  ObliviousGrower(const CatBoostModel& model, const FitRows& rows, const FitParameters& parameters,
                  double l2, WorkPool& pool);

  // Of each row its gradient and its weight, both times the row's own weight. A level takes the
  // split with the largest score over all leaves; of equal ones the first. A split that tells no
  // rows apart behind the others is dropped, and ends the tree.
  ObliviousTree Grow(std::span<const double> gradients, std::span<const double> weights) const;

 private:
  // A number with borders.
  struct Column {
    size_t borders = 0;
    uint32_t first_split = 0;
  };
  struct Candidate {
    double score = 0;
    size_t border = 0;
  };

  Candidate BestOf(size_t column, const ObliviousTree& tree, std::span<const double> gradients,
                   std::span<const double> weights) const;
  // Sets the new bit of each row's leaf, and says which leaves have rows.
  std::vector<uint8_t> Split(size_t column, size_t border, ObliviousTree* tree) const;
  static void Drop(size_t split, ObliviousTree* tree);

  const FitRows& rows_;
  size_t depth_;
  bool is_cosine_;
  double l2_;
  WorkPool& pool_;
  std::vector<Column> columns_;
};

}  // namespace strata
