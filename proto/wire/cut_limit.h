// CutLimit: how far what others say may raise the number of a cut. The number travels in every
// message and only grows: without a limit one message would take all numbers of a cluster away.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "strata/status.h"

namespace strata::wire {

// The highest number of a cut, and of a checkpoint. A higher one is no number.
constexpr uint32_t kCutMax = uint32_t{1} << 31;
// Cuts by which a number may rise a second. A checkpoint takes longer than a millisecond.
constexpr uint32_t kCutsPerSecond = 1024;

// The number, or 0 where it is none: what an older version has written may hold such.
constexpr uint32_t CutOrNone(uint32_t number) { return number <= kCutMax ? number : 0; }

// Not thread-safe.
class CutLimit {
 public:
  // `at_once`: what has not been used up adds up to this.
  explicit CutLimit(uint32_t at_once = kCutsPerSecond) : at_once_(at_once) {}

  // OK: somebody whose number is `own` may take over `number`. A rise uses up a part of what is
  // allowed. kInvalid, which names both: it is above kCutMax, or too far above `own`. `now` never
  // runs backwards.
  Status Take(uint32_t own, uint32_t number, TimeNs now);

 private:
  const uint32_t at_once_;
  uint64_t left_ = kCutsPerSecond;
  TimeNs counted_at_ = 0;
};

}  // namespace strata::wire
