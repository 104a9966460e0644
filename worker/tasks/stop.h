// StopRequest: what a signal asks, handed to whoever is at work.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "strata/status.h"

namespace strata {

// Thread-safe.
class StopRequest {
 public:
  // Ends the waits of whoever is at work, now or as soon as somebody is. The first reason holds.
  // While a task has said that it ends by itself (SetEndsItself), it is asked to (asked), and the
  // waits end only when it has not within `grace`.
  void Stop(const Status& reason, TimeNs grace) {
    const std::lock_guard lock(mutex_);
    if (!reason_.ok() || !asked_.ok()) return;
    if (!ends_itself_) return Cancel(reason);
    asked_ = reason;
    timer_ = std::jthread([this, grace](const std::stop_token& ends) { CancelAfter(grace, ends); });
  }

  // Whether the task looks at `asked`, and ends soon when that is not OK. When it no longer does,
  // and was asked to end meanwhile, its waits end.
  void SetEndsItself(bool ends_itself) {
    const std::lock_guard lock(mutex_);
    ends_itself_ = ends_itself;
    changed_.notify_all();
    if (!ends_itself && !asked_.ok() && !ends_now_ && reason_.ok()) Cancel(asked_);
  }

  // The task ends, as it was asked to, and takes the time that it needs.
  void EndsNow() {
    const std::lock_guard lock(mutex_);
    ends_now_ = true;
    changed_.notify_all();
  }

  // What ends the waits of whoever is at work, on any thread; at once when a stop was asked for. It
  // must not call back. Null takes it away.
  void Attach(std::function<void(const Status&)> cancel) {
    const std::lock_guard lock(mutex_);
    cancel_ = std::move(cancel);
    if (cancel_ != nullptr && !reason_.ok()) cancel_(reason_);
  }

  bool attached() const {
    const std::lock_guard lock(mutex_);
    return cancel_ != nullptr;
  }

  // OK as long as nobody asked to stop, or the task may still end by itself.
  Status reason() const {
    const std::lock_guard lock(mutex_);
    return reason_;
  }

  // OK as long as the task is to go on.
  Status asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  // The mutex is held.
  void Cancel(const Status& reason) {
    reason_ = reason;
    if (cancel_ != nullptr) cancel_(reason_);
  }

  void CancelAfter(TimeNs grace, const std::stop_token& ends) {
    std::unique_lock lock(mutex_);
    const auto done = [this] { return !ends_itself_ || ends_now_; };
    if (changed_.wait_for(lock, ends, std::chrono::nanoseconds(grace), done)) return;
    if (!ends.stop_requested()) Cancel(asked_);
  }

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  Status reason_;
  Status asked_;
  bool ends_itself_ = false;
  bool ends_now_ = false;
  std::function<void(const Status&)> cancel_;
  std::jthread timer_;  // goes first: it uses the others
};

}  // namespace strata
