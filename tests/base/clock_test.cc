#include "base/clock.h"

#include <gtest/gtest.h>

namespace strata {
namespace {

TEST(ClockTest, RealTimeMovesForward) {
  const Clock& clock = RealClock();
  TimeNs last = clock.Now();
  for (int i = 0; i < 1000; ++i) {
    const TimeNs now = clock.Now();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_GT(clock.WallUnixNs(), 1'700'000'000 * kSecond);  // after 2023
}

TEST(ClockTest, SimulatedTimeStandsUntilMoved) {
  SimClock clock(5);
  EXPECT_EQ(clock.Now(), 5);
  clock.Advance(10);
  EXPECT_EQ(clock.Now(), 15);
  clock.AdvanceTo(12);  // never back
  EXPECT_EQ(clock.Now(), 15);
  clock.AdvanceTo(20);
  EXPECT_EQ(clock.Now(), 20);
  EXPECT_EQ(clock.WallUnixNs(), 20);
}

}  // namespace
}  // namespace strata
