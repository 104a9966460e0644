#include "base/thread/side_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>
#include <thread>

namespace strata {
namespace {

TEST(SideThreadTest, DoesATaskWhileItsOwnerGoesOn) {
  auto side = SideThread::Start("side");
  ASSERT_TRUE(side.ok()) << side.status().ToString();
  std::binary_semaphore go(0);
  std::thread::id where;
  (*side)->Begin([&] {
    go.acquire();  // which the owner gives only once Begin has returned
    where = std::this_thread::get_id();
  });
  go.release();
  (*side)->Wait();
  EXPECT_NE(where, std::this_thread::get_id());
  EXPECT_NE(where, std::thread::id());
}

TEST(SideThreadTest, DoesOneTaskAfterTheOther) {
  for (const ThreadWait wait : {ThreadWait::kSleep, ThreadWait::kSpinFirst}) {
    auto side = SideThread::Start("side", wait);
    ASSERT_TRUE(side.ok());
    (*side)->Wait();  // for nothing
    int sum = 0;
    for (int i = 1; i <= 1000; ++i) {
      if (i % 2 == 0) (*side)->Wake();
      (*side)->Begin([&sum, i] { sum += i; });
      (*side)->Wait();
      ASSERT_EQ(sum, i * (i + 1) / 2);
    }
  }
}

TEST(SideThreadTest, EndsWithoutATask) {
  auto side = SideThread::Start("side");
  ASSERT_TRUE(side.ok());
}

}  // namespace
}  // namespace strata
