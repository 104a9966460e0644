// What a GPU's failure ends: nothing can be asked of that GPU any more by this process. A server
// ends, and the next one recovers from its log. A store that a program has linked ends alone.
#pragma once

#include <functional>
#include <optional>

#include "strata/status.h"

namespace strata {

// Ends the process (70), with a line in the log that names the calling thread, the GPU, where it is
// known, and what to do. Within CatchGpuFault it ends the work there, and the process goes on.
[[noreturn]] void EndForGpuFault(std::optional<int> gpu, const Status& status);

// Runs `work` and returns what it does. A GPU fault on this thread ends it: then kFailed says which
// GPU failed and how. What the work held is destroyed.
Status CatchGpuFault(const std::function<Status()>& work);

// Whether this thread is about to destroy what a fault has made useless. Errors of the GPU mean
// nothing then.
bool IgnoresGpuFaults();

// This thread does so while it lives.
class IgnoreGpuFaults {
 public:
  IgnoreGpuFaults();
  ~IgnoreGpuFaults();
  IgnoreGpuFaults(const IgnoreGpuFaults&) = delete;
  IgnoreGpuFaults& operator=(const IgnoreGpuFaults&) = delete;
};

}  // namespace strata
