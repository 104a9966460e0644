#include "base/clock.h"

#include <ctime>

namespace strata {
namespace {

int64_t ReadClock(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<int64_t>(t.tv_sec) * kSecond + t.tv_nsec;
}

class SystemClock : public Clock {
 public:
  TimeNs Now() const override { return ReadClock(CLOCK_MONOTONIC); }
  int64_t WallUnixNs() const override { return ReadClock(CLOCK_REALTIME); }
};

}  // namespace

const Clock& RealClock() {
  static const SystemClock clock;
  return clock;
}

TimeNs Now() { return RealClock().Now(); }

}  // namespace strata
