// A byte budget that several tables share.
#pragma once

#include <atomic>
#include <cstdint>

namespace strata {

// Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t bytes_max = UINT64_MAX) : bytes_max_(bytes_max) {}

  // False, and nothing taken, when it would exceed the budget.
  bool Take(uint64_t bytes) {
    const uint64_t most = bytes_max_.load(std::memory_order_relaxed);
    uint64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (used > most || bytes > most - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void Give(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  // What is taken stays taken, also when it is more.
  void SetMax(uint64_t bytes_max) { bytes_max_.store(bytes_max, std::memory_order_relaxed); }
  uint64_t bytes_max() const { return bytes_max_.load(std::memory_order_relaxed); }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> bytes_max_;
  std::atomic<uint64_t> used_{0};
};

}  // namespace strata
