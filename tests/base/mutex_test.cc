#include "base/thread/mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace strata {
namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 500;

// Runs `body` on several threads at once and waits for all.
template <typename Body>
void InThreads(const Body& body) {
  std::latch all_there(kThreads);
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      all_there.arrive_and_wait();
      for (int round = 0; round < kRounds; ++round) body();
    });
  }
}

// What only one thread at a time may be in. Not thread-safe: it finds out when it must be.
class Room {
 public:
  void PassThrough() {
    if (is_taken_.exchange(true)) ++meetings_;
    std::this_thread::yield();  // lets others in, if nothing keeps them out
    is_taken_ = false;
    ++passed_;
  }
  int meetings() const { return meetings_; }
  int passed() const { return passed_; }

 private:
  std::atomic<bool> is_taken_ = false;
  std::atomic<int> meetings_ = 0;
  int passed_ = 0;
};

TEST(MutexTest, OneThreadAtATimeHoldsIt) {
  Mutex mutex;
  Room room;
  InThreads([&] {
    const MutexLock lock(mutex);
    room.PassThrough();
  });
  EXPECT_EQ(room.meetings(), 0);
  EXPECT_EQ(room.passed(), kThreads * kRounds);
}

TEST(MutexTest, ALockCanBeGivenBackAndTakenAgain) {
  Mutex mutex;
  Room room;
  InThreads([&] {
    MutexLock lock(mutex);
    room.PassThrough();
    lock.Unlock();
    std::this_thread::yield();
    lock.Lock();
    room.PassThrough();
    lock.Unlock();
  });
  EXPECT_EQ(room.meetings(), 0);
  EXPECT_EQ(room.passed(), 2 * kThreads * kRounds);
}

TEST(MutexTest, OthersHaveItWhileALockIsGivenBack) {
  Mutex mutex;
  MutexLock lock(mutex);
  lock.Unlock();
  std::jthread([&] { const MutexLock other(mutex); }).join();
  lock.Lock();
}

TEST(SharedMutexTest, WritersAreAlone) {
  SharedMutex mutex;
  Room room;
  std::atomic<int> reads = 0;
  InThreads([&] {
    {
      const ReaderLock lock(mutex);
      reads += room.passed() >= 0 ? 1 : 0;
    }
    const WriterLock lock(mutex);
    room.PassThrough();
  });
  EXPECT_EQ(room.meetings(), 0);
  EXPECT_EQ(room.passed(), kThreads * kRounds);
  EXPECT_EQ(reads, kThreads * kRounds);
}

TEST(SharedMutexTest, ReadersAreThereTogether) {
  SharedMutex mutex;
  std::latch both(2);
  const ReaderLock lock(mutex);
  std::jthread other([&] {
    const ReaderLock its_lock(mutex);
    both.arrive_and_wait();
  });
  both.arrive_and_wait();
}

TEST(CondVarTest, WakesWhoWaitsAndLetsOthersHaveTheMutexMeanwhile) {
  Mutex mutex;
  CondVar changed;
  int turn = 0;
  std::jthread other([&] {
    for (int round = 0; round < kRounds; ++round) {
      const MutexLock lock(mutex);
      while (turn % 2 == 0) changed.Wait(mutex);
      ++turn;
      changed.NotifyOne();
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    const MutexLock lock(mutex);
    while (turn % 2 == 1) changed.Wait(mutex);
    ++turn;
    changed.NotifyAll();
  }
  other.join();
  EXPECT_EQ(turn, 2 * kRounds);
}

TEST(CondVarTest, SaysWhetherItWasInTime) {
  Mutex mutex;
  CondVar changed;
  const MutexLock lock(mutex);
  changed.WaitFor(mutex, 1);
  const auto no = [] { return false; };
  const auto yes = [] { return true; };
  EXPECT_FALSE(changed.WaitFor(mutex, 1, no));
  EXPECT_TRUE(changed.WaitFor(mutex, 1, yes));
  EXPECT_FALSE(changed.WaitUntil(mutex, RealClock().Now(), no));
  EXPECT_TRUE(changed.WaitUntil(mutex, RealClock().Now(), yes));
  EXPECT_TRUE(changed.WaitUntil(mutex, kNever, yes));
}

TEST(CondVarTest, AWaitThatEndsLeavesTheMutexHeld) {
  Mutex mutex;
  CondVar changed;
  Room room;
  InThreads([&] {
    const MutexLock lock(mutex);
    changed.WaitFor(mutex, 1);
    room.PassThrough();
  });
  EXPECT_EQ(room.meetings(), 0);
  EXPECT_EQ(room.passed(), kThreads * kRounds);
}

}  // namespace
}  // namespace strata
