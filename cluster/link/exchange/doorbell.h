// Doorbell: a place in shared memory where one thread sleeps until another, of any process that
// maps it, rings. Over futexes that processes share.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "base/clock.h"

namespace strata {

// Zeroed memory is a bell that nobody sleeps at. A sleeper
//   1. calls Listen(), 2. looks once more for what it waits for, 3. calls SleepAt with what Listen
// returned, 4. calls Wake(). Whoever changes what is waited for by a sequentially consistent store
// calls RingIfListened() behind it: then either it hears of the sleeper, or the sleeper sees the
// change. The system is called only when somebody sleeps.
struct Doorbell {
  std::atomic<uint32_t> rings;
  std::atomic<uint32_t> listened;  // 1: somebody sleeps, or is about to

  uint32_t Listen() {
    listened.store(1, std::memory_order_seq_cst);
    return rings.load(std::memory_order_seq_cst);
  }
  void Wake() { listened.store(0, std::memory_order_relaxed); }
  void RingIfListened() {
    if (listened.load(std::memory_order_seq_cst) != 0 && listened.exchange(0) != 0) Ring();
  }
  // Wakes whoever sleeps, or is about to.
  void Ring();
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

// A bell and the number of rings that Listen returned.
struct BellSeen {
  Doorbell* bell = nullptr;
  uint32_t rings = 0;
};

// Sleeps until one of the bells (one or two) has rung since its Listen, or `timeout` is over; may
// return before. Two bells on a kernel without futex_waitv (before Linux 5.16): at most 1 ms.
void SleepAt(std::span<const BellSeen> bells, TimeNs timeout);

}  // namespace strata
