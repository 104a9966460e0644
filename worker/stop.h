// StopRequest: what a signal asks, handed to whoever is at work.
#pragma once

#include <mutex>

#include "base/status.h"
#include "worker/session.h"

namespace strata {

// Thread-safe.
class StopRequest {
 public:
  // Ends the session's waits, now or as soon as there is one. The first reason holds.
  void Stop(const Status& reason) {
    const std::lock_guard lock(mutex_);
    if (!reason_.ok()) return;
    reason_ = reason;
    if (session_ != nullptr) session_->Cancel(reason_);
  }

  // The session to cancel, which must outlive its place here; null takes it away.
  void Attach(Session* session) {
    const std::lock_guard lock(mutex_);
    session_ = session;
    if (session_ != nullptr && !reason_.ok()) session_->Cancel(reason_);
  }

  bool attached() const {
    const std::lock_guard lock(mutex_);
    return session_ != nullptr;
  }

  // OK as long as nobody asked to stop.
  Status reason() const {
    const std::lock_guard lock(mutex_);
    return reason_;
  }

 private:
  mutable std::mutex mutex_;
  Status reason_;
  Session* session_ = nullptr;
};

}  // namespace strata
