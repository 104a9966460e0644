// Ranks as threads of the test, over messages in memory.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "cluster/collective/group.h"
#include "cluster/collective/memory_world.h"

namespace strata {

// Runs `body` as every rank of a world, each in a thread of its own. Once one has failed fatally,
// nobody waits for it.
inline void RunRanks(int world, const std::function<void(Group&)>& body) {
  MemoryWorld memory(world);
  std::vector<std::thread> threads;
  for (int r = 0; r < world; ++r) {
    threads.emplace_back([&, r] {
      Group group(memory.rank(r));
      body(group);
      if (::testing::Test::HasFatalFailure()) memory.Fail(Failed("the test has failed"));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace strata
