// Where a tiered table's work beside the request path runs: on a thread of its own in a server, in
// the calling thread in tests and simulations, which then repeat to the bit.
#pragma once

#include <functional>
#include <memory>

#include "strata/status.h"

namespace strata {

class TierExecutor {
 public:
  virtual ~TierExecutor() = default;
  // Runs the task once: now, or later in the order of posting. Thread-safe.
  virtual void Post(std::function<void()> task) = 0;
};

// Post returns when the task has run.
std::unique_ptr<TierExecutor> MakeInlineExecutor();
// One thread; it ends when the executor does, after what was posted. Tables that post end before.
Result<std::unique_ptr<TierExecutor>> MakeThreadExecutor();

}  // namespace strata
