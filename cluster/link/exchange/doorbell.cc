#include "cluster/link/exchange/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <ctime>

namespace strata {
namespace {

constexpr TimeNs kSleepMax = 3600 * kSecond;
constexpr TimeNs kSliceOfOldKernels = kMillisecond;

timespec Timespec(TimeNs t) { return {.tv_sec = t / kSecond, .tv_nsec = t % kSecond}; }

void SleepAtOne(const BellSeen& seen, TimeNs timeout) {
  const timespec relative = Timespec(timeout);
  syscall(SYS_futex, &seen.bell->rings, FUTEX_WAIT, seen.rings, &relative, nullptr, 0);
}

// False when this kernel, or its filter of system calls, does not know how.
bool SleepAtAll(std::span<const BellSeen> bells, TimeNs timeout) {
  std::array<futex_waitv, 2> waiters{};
  for (size_t i = 0; i < bells.size(); ++i) {
    waiters[i].val = bells[i].rings;
    waiters[i].uaddr = reinterpret_cast<uint64_t>(&bells[i].bell->rings);
    waiters[i].flags = FUTEX_32;
  }
  // Unlike the older call it takes the time of the end.
  const timespec until = Timespec(RealClock().Now() + timeout);
  const long result =
      syscall(SYS_futex_waitv, waiters.data(), bells.size(), 0U, &until, CLOCK_MONOTONIC);
  return result >= 0 || errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT;
}

}  // namespace

void Doorbell::Ring() {
  rings.fetch_add(1, std::memory_order_seq_cst);
  syscall(SYS_futex, &rings, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void SleepAt(std::span<const BellSeen> bells, TimeNs timeout) {
  timeout = std::clamp<TimeNs>(timeout, 0, kSleepMax);
  if (bells.size() == 2) {
    if (SleepAtAll(bells, timeout)) return;
    timeout = std::min(timeout, kSliceOfOldKernels);
  }
  if (!bells.empty()) SleepAtOne(bells.front(), timeout);
}

}  // namespace strata
