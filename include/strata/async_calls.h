// AsyncCalls: collectives of a group that run beside the caller's own work, one after the other, on
// one thread that is started once.
#pragma once

#include <functional>
#include <memory>

#include "strata/group.h"
#include "strata/status.h"
#include "strata/time.h"

namespace strata {

// A call that was started. Copies are the same call. Thread-safe.
class PendingCall {
 public:
  bool done() const;
  // The call's result; kDeadlineExceeded when it is not done after `timeout`: it goes on then, and
  // its buffers are still its own.
  Status Wait(TimeNs timeout) const;

 private:
  friend class AsyncCalls;
  struct State;
  explicit PendingCall(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

// All ranks start the same calls in the same order. While calls are pending nobody else uses the
// group.
class AsyncCalls {
 public:
  // The group outlives this.
  explicit AsyncCalls(Group& group);
  // Waits for the call under way. Those after it end with kCancelled, and the group with them.
  ~AsyncCalls();
  AsyncCalls(const AsyncCalls&) = delete;
  AsyncCalls& operator=(const AsyncCalls&) = delete;

  // Runs `call` after those started before, with its deadline in its own CallOptions. What it uses
  // outlives it. Any thread.
  PendingCall Start(std::function<Status(Group&)> call);
  // Ends the group: the call under way and those after it return `why`, or what ended it before.
  void Cancel(const Status& why);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata
