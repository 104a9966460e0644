// A queue between threads with two budgets, items and bytes: whoever produces faster than the other
// side consumes waits, and memory stays bounded. Several producers, several consumers.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
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
    std::unique_lock lock(mutex_);
    STRATA_TRY(CheckSize(bytes));
    const bool ready = Wait(lock, has_room_, deadline, [&] { return closed_ || HasRoom(bytes); });
    if (closed_) return Closed();
    if (!ready) return DeadlineExceeded("no room in the queue in time");
    Put(std::move(item), bytes);
    return Status::Ok();
  }

  // The same without waiting: kRefused when there is no room now.
  Status TryPush(T&& item, uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    STRATA_TRY(CheckSize(bytes));
    if (closed_) return Closed();
    if (!HasRoom(bytes)) return Refused("the queue is full");
    Put(std::move(item), bytes);
    return Status::Ok();
  }

  // The oldest item; nothing when the deadline passes first, or once the queue is closed and empty.
  std::optional<T> Pop(TimeNs deadline = kNever) {
    std::unique_lock lock(mutex_);
    Wait(lock, has_item_, deadline, [&] { return closed_ || !entries_.empty(); });
    return Take();
  }

  std::optional<T> TryPop() {
    const std::lock_guard lock(mutex_);
    return Take();
  }

  // Ends all waiting: pushes fail from now on, pops drain what is there. Idempotent.
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    has_room_.notify_all();
    has_item_.notify_all();
  }

  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

  BoundedQueueStats Stats() const {
    const std::lock_guard lock(mutex_);
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

  bool HasRoom(uint64_t bytes) const {
    return entries_.size() < options_.items_max && bytes <= options_.bytes_max - bytes_;
  }

  void Put(T&& item, uint64_t bytes) {
    entries_.push_back({std::move(item), bytes});
    bytes_ += bytes;
    has_item_.notify_one();
  }

  std::optional<T> Take() {
    if (entries_.empty()) return std::nullopt;
    std::optional<T> item(std::move(entries_.front().item));
    bytes_ -= entries_.front().bytes;
    entries_.pop_front();
    // All, because the first to wake may need more bytes than came free.
    has_room_.notify_all();
    return item;
  }

  template <typename Ready>
  static bool Wait(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
                   TimeNs deadline, Ready ready) {
    if (deadline == kNever) {
      condition.wait(lock, ready);
      return true;
    }
    // steady_clock is CLOCK_MONOTONIC, which RealClock reads.
    using TimePoint = std::chrono::steady_clock::time_point;
    return condition.wait_until(lock, TimePoint(std::chrono::nanoseconds(deadline)), ready);
  }

  const BoundedQueueOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable has_room_;
  std::condition_variable has_item_;
  std::deque<Entry> entries_;
  uint64_t bytes_ = 0;
  bool closed_ = false;
};

}  // namespace strata
