// The task "train" of strata-worker.
#pragma once

#include "strata/status.h"
#include "worker/tasks/tasks.h"

namespace strata {

// Trains the job's model, from its newest checkpoint if it has one, and saves it. Every rank of the
// session's group calls it.
Result<TaskResult> RunTraining(const TaskContext& context);

}  // namespace strata
