// What rows to learn from, or to measure on, must be, whatever they are read from.
#pragma once

#include <cstddef>
#include <string>

#include "strata/status.h"
#include "worker/gbdt/catboost/train/label_column.h"
#include "worker/gbdt/catboost/train/learn_rows.h"

namespace strata {

// kInvalid: there are 2^32 rows or more; `where` is the place of the first one too many.
Status CheckRowCount(size_t rows, const std::string& where);

// kInvalid: a number of the row is missing where nan_mode is Forbidden. The message does not name
// the row's place.
Status CheckMissing(const FitParameters& parameters, const CatBoostModel& model,
                    const CatBoostRows& rows, size_t row);

// After the last row: sets the classes. kInvalid, with `path` in front: all weights are 0, or what
// LabelColumn::Finish says.
Status FinishRows(LabelColumn&& labels, const std::string& path, LearnRows* rows);

}  // namespace strata
