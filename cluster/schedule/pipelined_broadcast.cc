#include <algorithm>

#include "cluster/schedule/rooted.h"

namespace strata {

Schedule PipelinedBroadcast(int world, int rank, int root, int pieces) {
  Schedule schedule{.world = world, .rank = rank, .blocks = pieces, .rounds = pieces + world - 2};
  const int place = Cyclic(rank - root, world);
  const bool sends = place < world - 1;
  const int first = std::max(0, place - 1);
  const int end = std::min(schedule.rounds, place + pieces);
  for (int round = first; round < end; ++round) {
    Step step{.round = round};
    const int arrives = round - (place - 1);
    if (place > 0 && arrives < pieces) {
      step.from = Cyclic(rank - 1, world);
      step.receive = {arrives, 1};
    }
    const int leaves = round - place;
    if (sends && leaves >= 0) {
      step.to = Cyclic(rank + 1, world);
      step.send = {leaves, 1};
    }
    if (step.to >= 0 || step.from >= 0) schedule.steps.push_back(step);
  }
  return schedule;
}

}  // namespace strata
