// StopRequest: what a signal asks, handed to whoever is at work.
#pragma once

#include <functional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/thread/mutex.h"
#include "strata/status.h"

namespace strata {

// Thread-safe.
class StopRequest {
 public:
  // Ends the waits of whoever is at work, now or as soon as somebody is. The first reason holds.
  // While a task has said that it ends by itself (SetEndsItself), it is asked to (asked), and the
  // waits end only when it has not within `grace`.
  void Stop(const Status& reason, TimeNs grace) {
    const MutexLock lock(mutex_);
    if (!reason_.ok() || !asked_.ok()) return;
    if (!ends_itself_) return Cancel(reason);
    asked_ = reason;
    timer_ = std::jthread([this, grace](const std::stop_token& ends) { CancelAfter(grace, ends); });
  }

  // Whether the task looks at `asked`, and ends soon when that is not OK. When it no longer does,
  // and was asked to end meanwhile, its waits end.
  void SetEndsItself(bool ends_itself) {
    const MutexLock lock(mutex_);
    ends_itself_ = ends_itself;
    changed_.NotifyAll();
    if (!ends_itself && !asked_.ok() && !ends_now_ && reason_.ok()) Cancel(asked_);
  }

  // The task ends, as it was asked to, and takes the time that it needs.
  void EndsNow() {
    const MutexLock lock(mutex_);
    ends_now_ = true;
    changed_.NotifyAll();
  }

  // What ends the waits of whoever is at work, on any thread; at once when a stop was asked for. It
  // must not call back. Null takes it away.
  void Attach(std::function<void(const Status&)> cancel) {
    const MutexLock lock(mutex_);
    cancel_ = std::move(cancel);
    if (cancel_ != nullptr && !reason_.ok()) cancel_(reason_);
  }

  bool attached() const {
    const MutexLock lock(mutex_);
    return cancel_ != nullptr;
  }

  // OK as long as nobody asked to stop, or the task may still end by itself.
  Status reason() const {
    const MutexLock lock(mutex_);
    return reason_;
  }

  // OK as long as the task is to go on.
  Status asked() const {
    const MutexLock lock(mutex_);
    return asked_;
  }

 private:
  void Cancel(const Status& reason) STRATA_REQUIRES(mutex_) {
    reason_ = reason;
    if (cancel_ != nullptr) cancel_(reason_);
  }

  void CancelAfter(TimeNs grace, const std::stop_token& ends) {
    const std::stop_callback wake(ends, [this] {
      const MutexLock lock(mutex_);
      changed_.NotifyAll();
    });
    const MutexLock lock(mutex_);
    const bool needs_none = changed_.WaitFor(mutex_, grace, [&] {
      mutex_.AssumeHeld();
      return ends.stop_requested() || !ends_itself_ || ends_now_;
    });
    if (!needs_none) Cancel(asked_);
  }

  mutable Mutex mutex_;
  CondVar changed_;
  Status reason_ STRATA_GUARDED_BY(mutex_);
  Status asked_ STRATA_GUARDED_BY(mutex_);
  bool ends_itself_ STRATA_GUARDED_BY(mutex_) = false;
  bool ends_now_ STRATA_GUARDED_BY(mutex_) = false;
  std::function<void(const Status&)> cancel_ STRATA_GUARDED_BY(mutex_);
  std::jthread timer_ STRATA_GUARDED_BY(mutex_);  // goes first: it uses the others
};

}  // namespace strata
