// The tasks of models of CatBoost: predictions for the rows of a file, and models written anew.
#pragma once

#include "strata/status.h"
#include "worker/tasks/catboost/calc_options.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata {

// predict: a line of names, then one a row: its sample id, which without such a column is its
// number from 0 on, and its predictions, parted by tabs. The first row that cannot be read ends it.
// convert: the model as CatBoost loads it. Uses the context's disk, clock, check and files. Fills
// the result's rows, features, rounds (the trees), seconds and output. Errors name the file and the
// place in it.
Result<TreeTaskResult> RunCalcTask(const CalcOptions& options, const TreeTaskContext& context);

}  // namespace strata
