// The task evaluate: a model's metrics on data.
#pragma once

#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "worker/gbdt/parameters/tree_parameters.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata {

// Fills the result's rows, features, rounds, seconds and evaluations. Metrics are those of the
// parameters, or what belongs to the model's objective.
Status RunEvaluate(const TreeParameters& parameters, const TreeTaskContext& context, WorkPool& pool,
                   TreeTaskResult* result);

}  // namespace strata
