// Bell: threads wait for it to ring. A thread that notes Rings(), looks for something to do and
// then waits for what it noted misses no ring.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace strata {

// How threads wait. What comes within microseconds is there before a thread has gone to sleep and
// woken, which takes tens of them, and some ten times as many now and then.
enum class ThreadWait : uint8_t { kSleep, kSpinFirst };

// Calls is_met() again and again until it is true, for half a millisecond at most; whether it was.
template <typename Condition>
bool SpinUntil(const Condition& is_met) {
  constexpr std::chrono::microseconds kMost{500};
  constexpr int kBetweenLooks = 32;  // at the clock
  const auto end = std::chrono::steady_clock::now() + kMost;
  do {
    for (int i = 0; i < kBetweenLooks; ++i) {
      if (is_met()) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

// Thread-safe.
class Bell {
 public:
  void Ring() {
    ++rings_;
    rings_.notify_all();
  }
  uint32_t Rings() const { return rings_; }  // so far
  // Returns when it has rung since there were `noted` of them.
  void Wait(uint32_t noted, ThreadWait how) const {
    const auto has_rung = [&] { return rings_ != noted; };
    if (how == ThreadWait::kSpinFirst && SpinUntil(has_rung)) return;
    rings_.wait(noted);
  }

 private:
  std::atomic<uint32_t> rings_{0};
};

}  // namespace strata
