// A byte budget that several tables share.
//
// A part of a budget is one table's. Up to its own maximum it is sure, whatever the others have
// taken: they are about to give back what is beyond theirs. Beyond it takes what the whole has
// left.
#pragma once

#include <atomic>
#include <cstdint>

namespace strata {

// Thread-safe.
class MemoryBudget {
 public:
  // `whole`: what this is a part of; outlives it.
  explicit MemoryBudget(uint64_t bytes_max = UINT64_MAX, MemoryBudget* whole = nullptr)
      : bytes_max_(bytes_max), whole_(whole) {}

  // False, and nothing taken, when it would exceed the budget.
  bool Take(uint64_t bytes) {
    if (whole_ != nullptr) return TakeOfWhole(bytes);
    const uint64_t most = bytes_max_.load(std::memory_order_relaxed);
    uint64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (used > most || bytes > most - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void Give(uint64_t bytes) {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    if (whole_ != nullptr) whole_->Give(bytes);
  }

  // What is taken stays taken, also when it is more.
  void SetMax(uint64_t bytes_max) { bytes_max_.store(bytes_max, std::memory_order_relaxed); }
  uint64_t bytes_max() const { return bytes_max_.load(std::memory_order_relaxed); }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  bool TakeOfWhole(uint64_t bytes) {
    const uint64_t used = used_.fetch_add(bytes, std::memory_order_relaxed);
    const uint64_t most = bytes_max_.load(std::memory_order_relaxed);
    if (used <= most && bytes <= most - used) {
      whole_->used_.fetch_add(bytes, std::memory_order_relaxed);
      return true;
    }
    if (whole_->Take(bytes)) return true;
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }

  std::atomic<uint64_t> bytes_max_;
  std::atomic<uint64_t> used_{0};
  MemoryBudget* const whole_;
};

}  // namespace strata
