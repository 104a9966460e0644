// Random moments of a soak.
#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "tests/support/wait_until.h"

namespace strata::soak {

// Until something that is under way is seen, at most.
constexpr TimeNs kSightMax = kSecond;

inline void Pass(TimeNs time) {
  WaitUntil([] { return false; }, time);
}

// In [0, max).
inline TimeNs RandomTime(Random& random, TimeNs max) {
  return static_cast<TimeNs>(random.Below(static_cast<uint64_t>(max)));
}

}  // namespace strata::soak
