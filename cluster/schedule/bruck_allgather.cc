#include "cluster/schedule/allgather.h"
#include "cluster/topology/bruck.h"

namespace strata {

Schedule BruckAllgather(int world, int rank) {
  Schedule schedule{.world = world, .rank = rank, .blocks = world};
  for (const BruckStep& step : MakeBruckMap(world, rank).steps) {
    schedule.steps.push_back({.round = schedule.rounds++,
                              .to = step.out,
                              .from = step.in,
                              .send = {step.send.start, step.send.count},
                              .receive = {step.recv.start, step.recv.count}});
  }
  return schedule;
}

}  // namespace strata
