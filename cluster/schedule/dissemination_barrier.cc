#include "cluster/schedule/all_to_all.h"

namespace strata {

Schedule DisseminationBarrier(int world, int rank) {
  Schedule schedule{.world = world, .rank = rank, .blocks = world, .rounds = CeilLog2(world)};
  for (int round = 0; round < schedule.rounds; ++round) {
    const int distance = 1 << round;
    schedule.steps.push_back({.round = round,
                              .to = Cyclic(rank + distance, world),
                              .from = Cyclic(rank - distance, world)});
  }
  return schedule;
}

}  // namespace strata
