// The seam to time. Nothing outside base/ reads the system's clock; code of Strata's that needs
// "now" or waits takes a Clock, whose Now a test can move, not strata/time.h's. SimClock is moved
// by hand, so that a test can pass an hour in a microsecond.
#pragma once

#include <atomic>
#include <cstdint>

#include "strata/time.h"

namespace strata {

constexpr double SecondsBetween(TimeNs begin, TimeNs end) {
  return static_cast<double>(end - begin) / static_cast<double>(kSecond);
}

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic. The only time that decides anything.
  virtual TimeNs Now() const = 0;
  // Unix time in nanoseconds: for log lines and manifests, never for a decision.
  virtual int64_t WallUnixNs() const = 0;
};

// The system's clock (CLOCK_MONOTONIC, CLOCK_REALTIME). Lives for the whole process.
const Clock& RealClock();

// Stands still until moved. Thread-safe.
class SimClock : public Clock {
 public:
  explicit SimClock(TimeNs now = 0) : now_(now) {}
  TimeNs Now() const override { return now_.load(); }
  int64_t WallUnixNs() const override { return now_.load(); }
  void AdvanceTo(TimeNs t) {
    if (t > now_.load()) now_.store(t);
  }
  void Advance(TimeNs d) { now_.fetch_add(d); }

 private:
  std::atomic<TimeNs> now_;
};

}  // namespace strata
