// Ranks as threads of the test, over messages in memory.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "cluster/collective/group.h"
#include "cluster/collective/memory_world.h"

namespace strata {

// Runs `body` as every rank of a world, each in a thread of its own. One that fails must cancel its
// group, as links do when a process ends.
inline void RunRanks(int world, const std::function<void(Group&)>& body) {
  MemoryWorld memory(world);
  std::vector<std::thread> threads;
  for (int r = 0; r < world; ++r) {
    threads.emplace_back([&, r] {
      Group group(memory.rank(r));
      body(group);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace strata
