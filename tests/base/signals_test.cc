#include "base/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <semaphore>

#include "base/thread/thread.h"

namespace strata {
namespace {

TEST(SignalsTest, WaitReturnsTheSignal) {
  BlockShutdownSignals();
  ASSERT_EQ(kill(getpid(), SIGINT), 0);
  EXPECT_EQ(WaitForSignal(), SIGINT);
  RequestShutdown();
  EXPECT_EQ(WaitForSignal(), SIGTERM);
}

TEST(SignalsTest, WatchCallsForTheFirst) {
  BlockShutdownSignals();
  std::binary_semaphore called(0);
  int got = 0;
  SignalWatch watch([&](int signal) {
    got = signal;
    called.release();
  });
  ASSERT_EQ(kill(getpid(), SIGINT), 0);
  called.acquire();
  EXPECT_EQ(got, SIGINT);
}

TEST(SignalsTest, WatchEndsWithoutASignal) {
  BlockShutdownSignals();
  bool called = false;
  for (int i = 0; i < 100; ++i) SignalWatch watch([&](int) { called = true; });
  EXPECT_FALSE(called);
  sigset_t pending;
  ASSERT_EQ(sigpending(&pending), 0);
  EXPECT_FALSE(sigismember(&pending, SIGTERM));
}

// While a watch runs that has told of a first SIGTERM.
void BehindASigterm(const std::function<void()>& work) {
  BlockShutdownSignals();
  std::binary_semaphore called(0);
  SignalWatch watch([&](int) { called.release(); });
  kill(getpid(), SIGTERM);
  called.acquire();
  work();
}

TEST(SignalsDeathTest, TheSecondSignalEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(BehindASigterm([] {
                kill(getpid(), SIGINT);
                pause();  // the watch ends the process
              }),
              testing::ExitedWithCode(1), "second signal");
}

TEST(SignalsDeathTest, OneSigtermMayComeTwice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(BehindASigterm([] {
                // The watch waits again once it has taken the last of them.
                for (int again = 0; again < 2; ++again) {
                  kill(getpid(), SIGTERM);
                  sigset_t pending;
                  do sigpending(&pending);
                  while (sigismember(&pending, SIGTERM) == 1);
                }
                _exit(7);
              }),
              testing::ExitedWithCode(7), "");
}

TEST(ThreadTest, OfLowPriorityLowersItselfAlone) {
  const int before = getpriority(PRIO_PROCESS, 0);
  int low = 0;
  int normal = 0;
  {
    auto first = StartThread(
        "low", [&] { low = getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())); },
        ThreadPriority::kLow);
    auto second = StartThread(
        "normal", [&] { normal = getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())); });
    ASSERT_TRUE(first.ok() && second.ok());
  }
  EXPECT_EQ(normal, before);
  EXPECT_EQ(low, std::max(before, 10));
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), before);
}

TEST(ThreadTest, RunsTheBodyAndJoins) {
  bool ran = false;
  {
    Result<std::jthread> thread = StartThread("a-name-longer-than-fifteen", [&] { ran = true; });
    ASSERT_TRUE(thread.ok());
  }
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace strata
