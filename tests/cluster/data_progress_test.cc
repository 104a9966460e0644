#include "cluster/link/exchange/data_progress.h"

#include <gtest/gtest.h>

namespace strata {
namespace {

TEST(DataProgress, WhatIsSentAndDoesNotComeIsMissed) {
  DataProgress progress;
  progress.TakeAnnounced(0, true, 10);
  EXPECT_EQ(progress.Stalled(true, 50), 0);
  progress.TakeAnnounced(100, true, 60);
  EXPECT_EQ(progress.Stalled(true, 60), 0);
  EXPECT_EQ(progress.Stalled(true, 90), 30);
  progress.TakeAnnounced(200, true, 100);
  EXPECT_EQ(progress.Stalled(true, 110), 50);
  progress.Excuse(40);
  EXPECT_EQ(progress.Stalled(true, 150), 50);
  progress.AddReceived(50);
  EXPECT_EQ(progress.Stalled(true, 160), 0);  // slow, but alive
  progress.TakeAnnounced(200, true, 170);
  EXPECT_EQ(progress.Stalled(true, 180), 10);
  progress.AddReceived(150);
  progress.TakeAnnounced(200, true, 190);
  EXPECT_EQ(progress.Stalled(true, 500), 0);
}

TEST(DataProgress, WhatNobodyWaitsForIsNotMissed) {
  DataProgress progress;
  progress.TakeAnnounced(100, false, 10);
  EXPECT_EQ(progress.Stalled(true, 100), 0);  // not before it is announced again
  progress.TakeAnnounced(100, true, 110);
  EXPECT_EQ(progress.Stalled(false, 200), 0);
  EXPECT_EQ(progress.Stalled(true, 200), 90);
  progress.TakeAnnounced(100, false, 210);
  EXPECT_EQ(progress.Stalled(true, 300), 0);
}

TEST(DataProgress, CountsWhatWasSent) {
  DataProgress progress;
  progress.AddSent(7);
  progress.AddSent(8);
  EXPECT_EQ(progress.sent(), 15U);
}

}  // namespace
}  // namespace strata
