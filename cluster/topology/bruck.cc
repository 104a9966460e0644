#include "cluster/topology/bruck.h"

#include <algorithm>

#include "strata/status.h"

namespace strata {

BruckMap MakeBruckMap(int world, int rank) {
  STRATA_CHECK(world >= 1 && rank >= 0 && rank < world);
  BruckMap map{.rank = rank, .world = world, .steps = {}};
  for (int distance = 1; distance < world; distance *= 2) {
    const int count = std::min(distance, world - distance);
    const int in = (rank + distance) % world;
    const int out = (rank - distance + world) % world;
    map.steps.push_back({.in = in, .out = out, .send = {rank, count}, .recv = {in, count}});
  }
  return map;
}

}  // namespace strata
