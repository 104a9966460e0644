// Training of CatBoost's trees in strata-worker, from the options to what is shown of the result.
#pragma once

#include "strata/status.h"
#include "worker/tasks/options.h"

namespace strata {

// Blocks until the training is done, failed or stopped by a signal; signals must be blocked. The
// result goes to standard output, all else to standard error; with --json each round has an object
// on standard output, too.
Status RunFit(const WorkerOptions& options);

}  // namespace strata
