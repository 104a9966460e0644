// FitStatistics: the statistics of categories of one training, with the folds that they make
// necessary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/thread/work_pool.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/split_bins.h"
#include "worker/gbdt/catboost/train/category_features.h"
#include "worker/gbdt/catboost/train/ctr_kinds.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"
#include "worker/gbdt/catboost/train/fit_rows.h"
#include "worker/gbdt/catboost/train/statistic_columns.h"
#include "worker/gbdt/catboost/train/tree_ctrs.h"
#include "worker/gbdt/catboost/train/used_ctrs.h"

namespace strata {

// One thread at a time. Of statistics that go by the rows before a row, each fold has its own, for
// it has an order of its own. A tree's splits are searched in one of the learning folds, and its
// leaves are estimated in all folds. The values of the last one, the averaging fold, go into the
// model. A training without statistics has that fold alone.
class FitStatistics {
 public:
  // All outlive it; `test` may be null. The bins are those of the model's features.
  FitStatistics(const FitParameters& parameters, const CategoryFeatures& categories,
                const SplitBins& bins, const FitRows& learn, const FitRows* test, WorkPool& pool,
                CatBoostModel* model);

  // Whether trees may split by statistics.
  bool HasCategories() const { return !categories_.with_statistics.empty(); }
  size_t folds() const { return columns_.folds(); }
  size_t averaging_fold() const { return folds() - 1; }
  // The fold that the next tree is searched in.
  size_t DrawFold();

  // What one tree may split by. Its columns before `first_column` are others.
  TreeCtrs StartTree(size_t fold, size_t first_column);
  // Frees what no further tree needs.
  void EndTree() { columns_.DropCombinations(); }

  // The leaf of each row to learn from in a fold; bit k is that of split k of the model, which may
  // be one of a statistic.
  std::vector<uint16_t> Leaves(size_t fold, std::span<const uint32_t> splits);
  // The same of each test row, by the model's tables.
  std::vector<uint16_t> TestLeaves(std::span<const uint32_t> splits) const;
  bool HasStatistic(std::span<const uint32_t> splits) const;

 private:
  // The leaf of each row. `column_of_ctr` gives the rows' bins of a ctr of the model.
  template <typename ColumnOfCtr>
  std::vector<uint16_t> LeavesOf(std::span<const uint32_t> splits, const FitRows& rows,
                                 const ColumnOfCtr& column_of_ctr) const;

  const CategoryParameters& p_;
  const CategoryFeatures& categories_;
  const SplitBins& bins_;
  const FitRows& learn_;
  const FitRows* const test_;
  WorkPool& pool_;
  CatBoostModel& model_;
  Random random_;
  const CtrKinds kinds_;
  StatisticColumns columns_;
  UsedCtrs used_;
};

}  // namespace strata
