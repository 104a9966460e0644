// FaultGuard: what a linked store, or a group of its tables, makes of a GPU's failure: the first
// one is the answer to everything from then on.
#pragma once

#include <functional>

#include "base/thread/mutex.h"
#include "kernels/core/gpu_fault.h"
#include "strata/status.h"

namespace strata {

// Thread-safe.
class FaultGuard {
 public:
  // Runs `work`, unless the GPU has failed before. The fault, or what `work` returns.
  Status Run(const std::function<Status()>& work) {
    if (Status before = fault(); !before.ok()) return before;
    bool has_ended = false;
    Status status = CatchGpuFault([&] {
      const Status result = work();
      has_ended = true;
      return result;
    });
    if (has_ended) return status;
    const MutexLock lock(mutex_);
    if (fault_.ok()) fault_ = status;
    return fault_;
  }
  // OK: none so far.
  Status fault() const {
    const MutexLock lock(mutex_);
    return fault_;
  }

 private:
  mutable Mutex mutex_;
  Status fault_ STRATA_GUARDED_BY(mutex_);
};

}  // namespace strata
