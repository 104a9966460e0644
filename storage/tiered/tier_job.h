// TierJob: work that a table has posted and will look at again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "base/thread/while_waiting.h"
#include "storage/tiered/tier_executor.h"

namespace strata {

// A T that is worked on elsewhere. The table's thread posts it, asks or waits until it is done, and
// takes it back; in between it touches nothing of it.
template <typename T>
class TierJob {
 public:
  bool active() const { return state_ != nullptr; }

  template <typename Work>
  void Start(TierExecutor& executor, T value, Work work) {
    state_ = std::make_shared<State>();
    state_->value = std::move(value);
    executor.Post([state = state_, work = std::move(work)] {
      work(state->value);
      const std::lock_guard lock(state->mutex);
      state->is_done = true;
      state->done.notify_all();
    });
  }

  bool IsDone() const {
    const std::lock_guard lock(state_->mutex);
    return state_->is_done;
  }

  // Waits until it is done. Meanwhile it calls DoWhileWaiting every kWaitPiece.
  T Take() {
    while (!WaitFor(kWaitPiece)) DoWhileWaiting();
    T value = std::move(state_->value);
    state_.reset();
    return value;
  }

 private:
  static constexpr std::chrono::milliseconds kWaitPiece{2};

  // Whether it is done, within a time.
  bool WaitFor(std::chrono::milliseconds time) const {
    std::unique_lock lock(state_->mutex);
    return state_->done.wait_for(lock, time, [&] { return state_->is_done; });
  }

  struct State {
    std::mutex mutex;
    std::condition_variable done;
    bool is_done = false;
    T value;
  };
  std::shared_ptr<State> state_;
};

}  // namespace strata
