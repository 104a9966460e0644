#include "cluster/schedule/rooted.h"

namespace strata {

Schedule BinomialBroadcast(int world, int rank, int root) {
  Schedule schedule{.world = world, .rank = rank, .blocks = world, .rounds = CeilLog2(world)};
  const BlockSet all{0, world};
  const int place = Cyclic(rank - root, world);
  for (int round = 0; round < schedule.rounds; ++round) {
    const int distance = 1 << round;
    if (place < distance && place + distance < world) {
      schedule.steps.push_back({.round = round, .to = Cyclic(rank + distance, world), .send = all});
    } else if (place >= distance && place < 2 * distance) {
      schedule.steps.push_back(
          {.round = round, .from = Cyclic(rank - distance, world), .receive = all});
    }
  }
  return schedule;
}

}  // namespace strata
