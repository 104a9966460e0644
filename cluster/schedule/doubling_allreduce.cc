#include "cluster/schedule/doubling_allreduce.h"

#include <ranges>

namespace strata {

Schedule DoublingAllreduce(int world, int rank, HalvingForm form) {
  const HalvingMap map = MakeHalvingMap(world, rank, form);
  const int folds = 1 << FloorLog2(world) == world ? 0 : 1;
  Schedule schedule{
      .world = world, .rank = rank, .blocks = world, .rounds = FloorLog2(world) + 2 * folds};
  const int last = schedule.rounds - 1;
  const BlockSet all{0, world};
  if (map.type == NodeType::kOther) {
    schedule.steps.push_back({.round = 0, .to = map.neighbour, .send = all});
    schedule.steps.push_back({.round = last, .from = map.neighbour, .receive = all});
    return schedule;
  }
  if (map.type == NodeType::kLeader) {
    schedule.steps.push_back(
        {.round = 0, .from = map.neighbour, .receive = all, .on_arrival = OnArrival::kReduce});
  }
  int round = folds;
  for (const HalvingRound& halving : std::views::reverse(map.rounds)) {
    schedule.steps.push_back({.round = round++,
                              .to = halving.peer,
                              .from = halving.peer,
                              .send = all,
                              .receive = all,
                              .on_arrival = OnArrival::kReduce});
  }
  if (map.type == NodeType::kLeader) {
    schedule.steps.push_back({.round = last, .to = map.neighbour, .send = all});
  }
  return schedule;
}

}  // namespace strata
