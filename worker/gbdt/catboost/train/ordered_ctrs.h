// Statistics of categories as columns of bins, and as the tables of a model, in CatBoost's numbers
// (private/libs/algo/online_ctr.cpp of its sources).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/train/ctr_kinds.h"
#include "worker/gbdt/catboost/train/row_orders.h"

namespace strata {

// Which key each row has.
struct RowKeys {
  std::span<const uint32_t> of_rows;  // numbers of keys
  size_t count = 0;                   // of keys
};

// One byte a row: bins from 0 to the kind's border_count.
using CtrBins = std::vector<uint8_t>;

// Of each prior the bins of the rows, as they stand. A row goes by the rows that come before it in
// the order and have its key; kCounter goes by all rows.
std::vector<CtrBins> OrderedCtrs(const CtrKind& kind, const RowKeys& keys, const RowOrder& order);

// What all rows of each key add up to, for CtrTable::numbers, of the type and with the classes of
// the kind; with the width and the denominator, but without keys and projection.
CtrTable CountKeys(const CtrKind& kind, const RowKeys& keys);

// The bins of one prior, of other rows by such a table. Keys that it does not have have no rows.
CtrBins TableCtrs(const CtrKind& kind, float prior, const CtrTable& table,
                  std::span<const uint32_t> keys);

// The number that the model makes of the table, with all borders between bins.
CatBoostCtr ModelCtr(const CtrKind& kind, float prior);

}  // namespace strata
