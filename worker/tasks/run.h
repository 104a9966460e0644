// strata-worker from the command line to the exit code.
#pragma once

namespace strata {

// Blocks until the task is done, failed or stopped by a signal; signals must be blocked. Results go
// to standard output, all else to standard error. Returns the process's exit code.
int RunWorker(int argc, char** argv);

}  // namespace strata
