// The task predict: one line of predictions a row of the data.
#pragma once

#include "base/status.h"
#include "base/work_pool.h"
#include "worker/gbdt/parameters.h"
#include "worker/gbdt/tree_task.h"

namespace strata {

// Fills the result's rows, features, rounds, seconds and output.
Status RunPredict(const TreeParameters& parameters, const TreeTaskContext& context, WorkPool& pool,
                  TreeTaskResult* result);

}  // namespace strata
