#include "base/work_pool.h"

#include <gtest/gtest.h>

namespace strata {
namespace {

class WorkPoolTest : public testing::TestWithParam<PoolWait> {};

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

INSTANTIATE_TEST_SUITE_P(Waits, WorkPoolTest,
                         testing::Values(PoolWait::kSleep, PoolWait::kSpinFirst));

}  // namespace
}  // namespace strata
