#include <algorithm>

#include "cluster/schedule/rooted.h"

namespace strata {

Schedule BinomialScatter(int world, int rank, int root) {
  Schedule schedule{.world = world, .rank = rank, .blocks = world, .rounds = CeilLog2(world)};
  const int place = Cyclic(rank - root, world);
  for (int round = 0; round < schedule.rounds; ++round) {
    const int distance = 1 << (schedule.rounds - 1 - round);
    if (place % (2 * distance) == 0 && place + distance < world) {
      const int child = Cyclic(rank + distance, world);
      schedule.steps.push_back({.round = round,
                                .to = child,
                                .send = {child, std::min(distance, world - place - distance)}});
    } else if (place % (2 * distance) == distance) {
      schedule.steps.push_back({.round = round,
                                .from = Cyclic(rank - distance, world),
                                .receive = {rank, std::min(distance, world - place)}});
    }
  }
  return schedule;
}

}  // namespace strata
