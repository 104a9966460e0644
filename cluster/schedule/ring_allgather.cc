#include "cluster/schedule/allgather.h"

namespace strata {

Schedule RingAllgather(int world, int rank) {
  Schedule schedule{.world = world, .rank = rank, .blocks = world, .rounds = world - 1};
  for (int round = 0; round < schedule.rounds; ++round) {
    schedule.steps.push_back({.round = round,
                              .to = Cyclic(rank + 1, world),
                              .from = Cyclic(rank - 1, world),
                              .send = {Cyclic(rank - round, world), 1},
                              .receive = {Cyclic(rank - 1 - round, world), 1}});
  }
  return schedule;
}

}  // namespace strata
