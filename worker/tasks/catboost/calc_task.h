// The tasks of models of CatBoost: predictions for the rows of a file, and models written anew.
#pragma once

#include "strata/status.h"
#include "worker/tasks/catboost/calc_options.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata {

// predict writes a line of names, then one a row, with tabs between the fields. A row's line has
// its sample id and its predictions; without a column of ids, its number from 0 on is the id. The
// first row that cannot be read ends it. convert writes the model as CatBoost loads it. Both use
// the context's disk, clock, check and files, and fill the result's rows, features, rounds (the
// trees), seconds and output. Errors name the file and the place in it.
Result<TreeTaskResult> RunCalcTask(const CalcOptions& options, const TreeTaskContext& context);

}  // namespace strata
