// A queue between threads with two budgets, items and bytes: whoever produces faster than the other
// side consumes waits, and memory stays bounded. Several producers, several consumers.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/thread/mutex.h"
#include "strata/status.h"

namespace strata {

struct BoundedQueueOptions {
  size_t items_max = 0;
  uint64_t bytes_max = UINT64_MAX;
};

struct BoundedQueueStats {
  size_t items = 0;
  uint64_t bytes = 0;
};

// Thread-safe. Items leave in the order in which they came in. Deadlines are on RealClock.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(BoundedQueueOptions options) : options_(options) {}

  // Waits for room in both budgets. `item` is taken only on OK. kDeadlineExceeded: still no room;
  // kCancelled: closed; kRefused: the item alone is larger than the byte budget.
  Status Push(T&& item, uint64_t bytes, TimeNs deadline = kNever) {
    const MutexLock lock(mutex_);
    STRATA_TRY(CheckSize(bytes));
    const bool ready = has_room_.WaitUntil(mutex_, deadline, [&] {
      mutex_.AssumeHeld();
      return closed_ || HasRoom(bytes);
    });
    if (closed_) return Closed();
    if (!ready) return DeadlineExceeded("no room in the queue in time");
    Put(std::move(item), bytes);
    return Status::Ok();
  }

  // The same without waiting: kRefused when there is no room now.
  Status TryPush(T&& item, uint64_t bytes) {
    const MutexLock lock(mutex_);
    STRATA_TRY(CheckSize(bytes));
    if (closed_) return Closed();
    if (!HasRoom(bytes)) return Refused("the queue is full");
    Put(std::move(item), bytes);
    return Status::Ok();
  }

  // The oldest item; nothing when the deadline passes first, or once the queue is closed and empty.
  std::optional<T> Pop(TimeNs deadline = kNever) {
    const MutexLock lock(mutex_);
    has_item_.WaitUntil(mutex_, deadline, [&] {
      mutex_.AssumeHeld();
      return closed_ || !entries_.empty();
    });
    return Take();
  }

  std::optional<T> TryPop() {
    const MutexLock lock(mutex_);
    return Take();
  }

  // Ends all waiting: pushes fail from now on, pops drain what is there. Idempotent.
  void Close() {
    const MutexLock lock(mutex_);
    closed_ = true;
    has_room_.NotifyAll();
    has_item_.NotifyAll();
  }

  bool closed() const {
    const MutexLock lock(mutex_);
    return closed_;
  }

  BoundedQueueStats Stats() const {
    const MutexLock lock(mutex_);
    return {entries_.size(), bytes_};
  }

 private:
  struct Entry {
    T item;
    uint64_t bytes;
  };

  static Status Closed() { return Cancelled("the queue is closed"); }

  Status CheckSize(uint64_t bytes) const {
    if (bytes <= options_.bytes_max) return Status::Ok();
    return Refused(fmt::format("an item of {} bytes exceeds the queue's budget of {} bytes", bytes,
                               options_.bytes_max));
  }

  bool HasRoom(uint64_t bytes) const STRATA_REQUIRES(mutex_) {
    return entries_.size() < options_.items_max && bytes <= options_.bytes_max - bytes_;
  }

  void Put(T&& item, uint64_t bytes) STRATA_REQUIRES(mutex_) {
    entries_.push_back({std::move(item), bytes});
    bytes_ += bytes;
    has_item_.NotifyOne();
  }

  std::optional<T> Take() STRATA_REQUIRES(mutex_) {
    if (entries_.empty()) return std::nullopt;
    std::optional<T> item(std::move(entries_.front().item));
    bytes_ -= entries_.front().bytes;
    entries_.pop_front();
    // All, because the first to wake may need more bytes than came free.
    has_room_.NotifyAll();
    return item;
  }

  const BoundedQueueOptions options_;
  mutable Mutex mutex_;
  CondVar has_room_;
  CondVar has_item_;
  std::deque<Entry> entries_ STRATA_GUARDED_BY(mutex_);
  uint64_t bytes_ STRATA_GUARDED_BY(mutex_) = 0;
  bool closed_ STRATA_GUARDED_BY(mutex_) = false;
};

}  // namespace strata
