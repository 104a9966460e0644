// Borders of a model's numbers from the rows of its training, the rows as bins, and models that
// keep the borders alone that trees use.
#pragma once

#include "base/thread/work_pool.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/split_bins.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"
#include "worker/gbdt/catboost/train/fit_rows.h"
#include "worker/gbdt/catboost/train/learn_rows.h"

namespace strata {

// Fills borders and treatment of missing values of each number, and lists the splits. One of the
// borders parts missing values from the others: the lowest float, or with NanMode::kMax the
// largest. The borders do not depend on the threads.
void SetBorders(const FitParameters& parameters, const LearnRows& rows, WorkPool& pool,
                CatBoostModel* model);

// The rows by the model's bins.
FitRows BinRows(const SplitBins& bins, LearnRows rows, WorkPool& pool);

// Leaves out the borders that no tree uses, of a model of numbers.
void KeepUsedBorders(CatBoostModel* model);

}  // namespace strata
