#include "cluster/schedule/all_to_all.h"

namespace strata {

Schedule PairwiseAllToAll(int world, int rank) {
  Schedule schedule{.world = world, .rank = rank, .blocks = world, .rounds = world - 1};
  for (int round = 0; round < schedule.rounds; ++round) {
    const int to = Cyclic(rank + round + 1, world);
    const int from = Cyclic(rank - round - 1, world);
    schedule.steps.push_back(
        {.round = round, .to = to, .from = from, .send = {to, 1}, .receive = {from, 1}});
  }
  return schedule;
}

}  // namespace strata
