// StatisticColumns: the columns of statistics that trees may split by, one set for each order of
// the training rows, made when they are asked for.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/thread/work_pool.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/split_bins.h"
#include "worker/gbdt/catboost/train/category_features.h"
#include "worker/gbdt/catboost/train/ctr_kinds.h"
#include "worker/gbdt/catboost/train/fit_rows.h"
#include "worker/gbdt/catboost/train/ordered_ctrs.h"
#include "worker/gbdt/catboost/train/row_orders.h"

namespace strata {

// A column: one prior of one of the kinds that CtrKinds has of the projection.
struct CtrColumn {
  CtrProjection projection;
  size_t kind = 0;
  size_t prior = 0;
  auto operator<=>(const CtrColumn&) const = default;
};

// One thread at a time.
class StatisticColumns {
 public:
  // All outlive it. There is an order for each fold. The bins are those of the model's numbers and
  // values; splits of projections are their splits.
  StatisticColumns(const CtrKinds& kinds, const CategoryFeatures& categories, const SplitBins& bins,
                   const FitRows& learn, std::vector<RowOrder> orders, WorkPool& pool);

  size_t folds() const { return orders_.size(); }
  const std::vector<CtrKind>& KindsOf(const CtrProjection& projection) const {
    return kinds_.Of(projection);
  }

  // Makes all columns of the projections for a fold that are not there yet, several at a time.
  void Make(size_t fold, std::span<const CtrProjection> projections);
  // The bins of the rows, as they stand. They stay until DropCombinations, those of single
  // categories for good.
  std::span<const uint8_t> Column(size_t fold, const CtrColumn& column);
  // How many keys the rows have.
  size_t KeyCount(const CtrProjection& projection);
  // Frees what was made of combinations.
  void DropCombinations();

  // The model's table of all rows.
  CtrTable Table(const CtrProjection& projection, size_t kind);
  // The bins of other rows by that table.
  CtrBins TableColumn(const CtrColumn& column, const CtrTable& table, const FitRows& rows) const;

 private:
  struct Projection {
    std::vector<uint64_t> keys;      // by number, as the model has them
    std::vector<uint32_t> combined;  // of each row; empty: the category's own numbers
    // By fold, kind and prior; empty: not made yet.
    std::vector<std::vector<std::vector<CtrBins>>> columns;
  };

  Projection& Find(const CtrProjection& projection);
  void SetKeys(const CtrProjection& projection, Projection* of) const;
  std::vector<uint64_t> CombinedKeys(const CtrProjection& projection, const FitRows& rows) const;
  RowKeys KeysOf(const CtrProjection& projection, const Projection& of) const;

  const CtrKinds& kinds_;
  const CategoryFeatures& categories_;
  const SplitBins& bins_;
  const FitRows& learn_;
  const std::vector<RowOrder> orders_;
  WorkPool& pool_;
  std::map<CtrProjection, Projection> projections_;
};

}  // namespace strata
