#include <ranges>

#include "cluster/schedule/allgather.h"

namespace strata {

Schedule DoublingAllgather(int world, int rank, HalvingForm form) {
  const HalvingMap map = MakeHalvingMap(world, rank, form);
  const int folds = 1 << FloorLog2(world) == world ? 0 : 1;
  Schedule schedule{
      .world = world, .rank = rank, .blocks = world, .rounds = FloorLog2(world) + 2 * folds};
  const int last = schedule.rounds - 1;
  const int neighbour = map.neighbour;
  if (map.type == NodeType::kOther) {
    // What comes back is everything but what this rank brought.
    schedule.steps.push_back({.round = 0, .to = neighbour, .send = {rank, 1}});
    schedule.steps.push_back(
        {.round = last, .from = neighbour, .receive = {Cyclic(rank + 1, world), world - 1}});
    return schedule;
  }
  if (map.type == NodeType::kLeader) {
    schedule.steps.push_back({.round = 0, .from = neighbour, .receive = {neighbour, 1}});
  }
  int round = folds;
  for (const HalvingRound& halving : std::views::reverse(map.rounds)) {
    schedule.steps.push_back({.round = round++,
                              .to = halving.peer,
                              .from = halving.peer,
                              .send = {halving.recv.start, halving.recv.count},
                              .receive = {halving.send.start, halving.send.count}});
  }
  if (map.type == NodeType::kLeader) {
    schedule.steps.push_back(
        {.round = last, .to = neighbour, .send = {Cyclic(neighbour + 1, world), world - 1}});
  }
  return schedule;
}

}  // namespace strata
