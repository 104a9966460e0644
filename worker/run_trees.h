// strata-worker --lightgbm_conf, from the options to the exit code.
#pragma once

#include "base/status.h"
#include "worker/options.h"

namespace strata {

// Blocks until the task is done, failed or stopped by a signal; signals must be blocked. The result
// goes to standard output, all else to standard error. Returns the process's exit code.
int RunTrees(const WorkerOptions& options);

// Prints why the worker ends; returns the process's exit code.
int FailWorker(const Status& status);

}  // namespace strata
