// What a task of a job that trains no trees writes: checked before the work.
#pragma once

#include "strata/status.h"
#include "worker/tasks/tasks.h"

namespace strata {

// Rank 0 can write the task's model or predictions, and they take the place of nothing that the
// job names. The errors are those of CheckOutputFiles and TryOutputFolder, after the key and its
// value. Every rank calls it.
Status CheckJobOutputs(const TaskContext& context);

}  // namespace strata
