// The end of a process whose GPU can be asked nothing any more.
#pragma once

#include <optional>

#include "strata/status.h"

namespace strata {

// Ends the process (70), with a line in the log that names the calling thread, the GPU, where it is
// known, and what to do.
[[noreturn]] void EndForGpuFault(std::optional<int> gpu, const Status& status);

}  // namespace strata
