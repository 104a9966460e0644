// TierJob: work that a table has posted and will look at again.
#pragma once

#include <memory>
#include <utility>

#include "base/thread/mutex.h"
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
      const MutexLock lock(state->mutex);
      state->is_done = true;
      state->done.NotifyAll();
    });
  }

  bool IsDone() const {
    const MutexLock lock(state_->mutex);
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
  static constexpr TimeNs kWaitPiece = 2 * kMillisecond;

  // Whether it is done, within a time.
  bool WaitFor(TimeNs time) const {
    State& state = *state_;
    const MutexLock lock(state.mutex);
    return state.done.WaitFor(state.mutex, time, [&state] {
      state.mutex.AssumeHeld();
      return state.is_done;
    });
  }

  struct State {
    Mutex mutex;
    CondVar done;
    bool is_done STRATA_GUARDED_BY(mutex) = false;
    T value;
  };
  std::shared_ptr<State> state_;
};

}  // namespace strata
