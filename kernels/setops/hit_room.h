// HitRoom: how many documents the answers of a search without a limit of its own may have together.
// What is asked for is small, and what is found may be all documents for each query.
#pragma once

#include <atomic>
#include <cstdint>

namespace strata {

// Thread-safe.
class HitRoom {
 public:
  explicit HitRoom(uint64_t most) : most_(most), left_(static_cast<int64_t>(most)) {}

  void Take(uint64_t hits) {
    const auto count = static_cast<int64_t>(hits);
    if (left_.fetch_sub(count, std::memory_order_relaxed) < count) is_exceeded_ = true;
  }
  void GiveBack(uint64_t hits) {
    left_.fetch_add(static_cast<int64_t>(hits), std::memory_order_relaxed);
  }
  // More was taken than there was: for good. The search may stop, its answers are of no use.
  bool IsExceeded() const { return is_exceeded_.load(std::memory_order_relaxed); }
  uint64_t most() const { return most_; }

 private:
  const uint64_t most_;
  std::atomic<int64_t> left_;
  std::atomic<bool> is_exceeded_{false};
};

}  // namespace strata
