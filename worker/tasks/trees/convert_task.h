// The task convert: a model of one format written in another.
#pragma once

#include "strata/status.h"
#include "worker/gbdt/parameters/tree_parameters.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata {

// Fills the result's features, rounds and output.
Status RunConvert(const TreeParameters& parameters, const TreeTaskContext& context,
                  TreeTaskResult* result);

}  // namespace strata
