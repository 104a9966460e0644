#include "base/thread/work_pool.h"

#include <gtest/gtest.h>

namespace strata {
namespace {

class WorkPoolTest : public testing::TestWithParam<ThreadWait> {};

TEST_P(WorkPoolTest, EachTaskRunsOnceWhoeverCalls) {
  auto pool = WorkPool::Start("test", 3, GetParam());
  ASSERT_TRUE(pool.ok());
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      for (size_t count = 0; count < 200; ++count) {
        if (count % 2 == 0) (*pool)->Wake();
        std::vector<std::atomic<int>> runs(count);
        (*pool)->Run(count, [&](size_t i) { ++runs[i]; });
        for (const auto& run : runs) ASSERT_EQ(run, 1);
      }
    });
  }
}

// More calls at a time than the pool tells its threads of, each within another one.
TEST_P(WorkPoolTest, ManyCallsAtATimeAndWithinEachOther) {
  auto pool = WorkPool::Start("test", 2, GetParam());
  ASSERT_TRUE(pool.ok());
  std::vector<std::atomic<int>> runs(40 * 3 * 7);
  {
    std::vector<std::jthread> callers;
    for (size_t caller = 0; caller < 40; ++caller) {
      callers.emplace_back([&, caller] {
        (*pool)->Run(3, [&](size_t i) {
          (*pool)->Run(7, [&](size_t j) { ++runs[(caller * 3 + i) * 7 + j]; });
        });
      });
    }
  }
  for (const auto& run : runs) ASSERT_EQ(run, 1);
}

INSTANTIATE_TEST_SUITE_P(Waits, WorkPoolTest,
                         testing::Values(ThreadWait::kSleep, ThreadWait::kSpinFirst));

}  // namespace
}  // namespace strata
