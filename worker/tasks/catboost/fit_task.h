// Training of CatBoost's trees, from the files of rows to that of the model.
#pragma once

#include "strata/status.h"
#include "worker/tasks/catboost/fit_options.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata {

// Uses the context's disk, clock, progress, check, is_unread and files. The result has the losses
// of "training" and "test", and the best round where there are test rows. Errors name the file and
// the place in it.
Result<TreeTaskResult> RunFitTask(const FitOptions& options, const TreeTaskContext& context);

}  // namespace strata
