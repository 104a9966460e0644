// A plain reading of models of CatBoost: one row and one split at a time, without bins or indexes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/catboost_rows.h"

namespace strata {

// The key that the table has for a row.
uint64_t ReferenceKey(const CatBoostModel& model, const CtrTable& table, const CatBoostRows& rows,
                      size_t row);

// The raw value of an output for a row.
double ReferenceRaw(const CatBoostModel& model, const CatBoostRows& rows, size_t row,
                    size_t output);

}  // namespace strata
