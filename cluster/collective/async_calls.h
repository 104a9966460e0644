// AsyncCalls: collectives of a group that run beside the caller's own work, one after the other, on
// one thread that is started once.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "cluster/collective/group.h"
#include "strata/status.h"

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
  struct State {
    std::function<Status(Group&)> call;
    mutable std::mutex mutex;
    mutable std::condition_variable changed;
    bool done = false;
    Status status;
  };
  explicit PendingCall(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

// All ranks start the same calls in the same order. While calls are pending nobody else uses the
// group.
class AsyncCalls {
 public:
  // The group outlives this.
  explicit AsyncCalls(Group& group);
  // Waits for the call under way; those behind it end with kCancelled, and the group with them.
  ~AsyncCalls();
  AsyncCalls(const AsyncCalls&) = delete;
  AsyncCalls& operator=(const AsyncCalls&) = delete;

  // Runs `call` behind those started before, with its deadline in its own CallOptions. What it uses
  // outlives it. Any thread.
  PendingCall Start(std::function<Status(Group&)> call);
  // Ends the group: the call under way and those behind it return `why`, or what ended it before.
  void Cancel(const Status& why);

 private:
  using Work = std::shared_ptr<PendingCall::State>;
  void Run();
  static void Finish(const Work& work, const Status& status);

  Group& group_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace strata
