// TreeCtrs: the statistics that the levels of one tree may split by, as CatBoost's greedy search
// tries them (private/libs/algo/greedy_tensor_search.cpp of its sources).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "kernels/tree/oblivious/grow_column.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/train/category_parameters.h"
#include "worker/gbdt/catboost/train/split_choice.h"
#include "worker/gbdt/catboost/train/statistic_columns.h"
#include "worker/gbdt/catboost/train/used_ctrs.h"

namespace strata {

// One thread at a time.
class TreeCtrs {
 public:
  // All outlive it. The columns are those of a fold. The tree's columns before `first_column` are
  // others.
  TreeCtrs(const CategoryParameters& parameters, std::span<const uint32_t> categories,
           const CatBoostModel& model, size_t fold, size_t first_column, StatisticColumns* columns,
           UsedCtrs* used)
      : p_(parameters),
        categories_(categories),
        model_(model),
        fold_(fold),
        first_column_(first_column),
        columns_(*columns),
        used_(*used) {}

  // What the next level tries besides: every category, and with combinations each of them that
  // joins the splits so far. The columns that are new to the tree follow those before.
  std::vector<GrowColumn> NextLevel();
  // How many of the tree's columns are these.
  size_t columns() const { return of_tree_.size(); }
  // Sets in the rules of all columns of the tree which of these the level tries, and the factors of
  // those that the model does not use yet, by their numbers of keys (model_size_reg). Columns of
  // one projection are drawn together.
  void SetFactors(std::span<ColumnRule> rules) const;
  // The places in the data of the features that one of these columns is made of. One is there as
  // often as splits of it are, for CatBoost multiplies weights that often.
  std::vector<uint32_t> FeaturesOf(size_t column) const;

  // The model's split at a place of one of these columns.
  uint32_t ModelSplit(const GrowSplit& split) {
    return used_.SplitOf(of_tree_[split.column - first_column_], split.place);
  }
  // The level has split by this one, of the model.
  void AddSplit(uint32_t split);

 private:
  std::vector<CtrProjection> LevelProjections() const;

  const CategoryParameters& p_;
  const std::span<const uint32_t> categories_;
  const CatBoostModel& model_;
  const size_t fold_;
  const size_t first_column_;
  StatisticColumns& columns_;
  UsedCtrs& used_;
  std::vector<CtrColumn> of_tree_;       // columns from first_column on
  std::vector<uint32_t> number_splits_;  // of the tree, in its order
  std::vector<uint32_t> value_splits_;
  std::vector<CtrProjection> split_by_;    // projections of the tree's statistics, none twice
  std::map<CtrProjection, size_t> tried_;  // by the level, with their numbers of keys
  std::set<CtrProjection> known_;          // whose columns the tree has
};

}  // namespace strata
