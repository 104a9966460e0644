// Pending: one submitted operation whose outcome is waited for later.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "storage/table.h"

namespace strata {

// Holds on to whatever owns the operation's spans until the store is done with them, so that a
// caller may give up on an operation at any time without waiting. One thread at a time.
class Pending {
 public:
  Pending() = default;

  void Submit(TableStore& store, Operation operation, std::shared_ptr<const void> owner) {
    state_ = std::make_shared<State>();
    store.Submit(std::move(operation), [state = state_, owner = std::move(owner)](Outcome outcome) {
      const std::lock_guard lock(state->mutex);
      state->status = std::move(outcome.status);
      state->done.notify_all();
    });
  }

  // The outcome of what was submitted last; OK when there is nothing to wait for.
  Status Wait() {
    if (state_ == nullptr) return {};
    std::unique_lock lock(state_->mutex);
    state_->done.wait(lock, [this] { return state_->status.has_value(); });
    Status status = *state_->status;
    lock.unlock();
    state_.reset();
    return status;
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable done;
    std::optional<Status> status;
  };
  std::shared_ptr<State> state_;
};

}  // namespace strata
