// UsedCtrs: the statistics that the trees of a training use, as they become parts of the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/train/fit_rows.h"
#include "worker/gbdt/catboost/train/ordered_ctrs.h"
#include "worker/gbdt/catboost/train/statistic_columns.h"

namespace strata {

// One thread at a time.
class UsedCtrs {
 public:
  // All outlive it; `test` may be null. The model has no statistics yet.
  UsedCtrs(StatisticColumns* columns, const FitRows* test, CatBoostModel* model)
      : columns_(*columns), test_(test), model_(*model) {}

  // The model's split at a place of a column. A column that is new to the model gets its table of
  // all training rows, and all of its borders.
  uint32_t SplitOf(const CtrColumn& column, size_t place);
  // Whether a column of the type and projection has been asked for.
  bool Has(CtrType type, const CtrProjection& projection) const {
    return tables_.contains({type, projection});
  }

  // By the place in the model's ctrs.
  const CtrColumn& column(size_t ctr) const { return of_ctrs_[ctr].column; }
  // The bins of the test rows, by the model's table.
  std::span<const uint8_t> TestColumn(size_t ctr) const { return of_ctrs_[ctr].test; }

 private:
  struct OfCtr {
    CtrColumn column;
    CtrBins test;
  };

  size_t TableOf(const CtrColumn& column);

  StatisticColumns& columns_;
  const FitRows* const test_;
  CatBoostModel& model_;
  std::map<std::pair<CtrType, CtrProjection>, size_t> tables_;  // places in the model
  std::map<CtrColumn, uint32_t> first_splits_;
  std::vector<OfCtr> of_ctrs_;
};

}  // namespace strata
