// Borders of a model's numbers from the rows of its training, and the rows as bins.
#pragma once

#include "base/thread/work_pool.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/split_bins.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"
#include "worker/gbdt/catboost/train/fit_rows.h"
#include "worker/gbdt/catboost/train/learn_rows.h"

namespace strata {

// Fills borders and treatment of missing values of each number. One of the borders parts missing
// values from the others: the lowest float, or with NanMode::kMax the largest. The borders do not
// depend on the threads.
void SetBorders(const FitParameters& parameters, const LearnRows& rows, WorkPool& pool,
                CatBoostModel* model);

// The rows by the model's bins, without their categories.
FitRows BinRows(const SplitBins& bins, LearnRows rows, WorkPool& pool);

}  // namespace strata
