#include <algorithm>

#include "cluster/schedule/all_to_all.h"

namespace strata {
namespace {

// How many of 0 .. world-1 have the bit set.
int WithBit(int world, int bit) {
  return world / (2 * bit) * bit + std::max(0, world % (2 * bit) - bit);
}

}  // namespace

Schedule BruckAllToAll(int world, int rank) {
  Schedule schedule{.world = world, .rank = rank, .blocks = world, .rounds = CeilLog2(world)};
  for (int round = 0; round < schedule.rounds; ++round) {
    const int distance = 1 << round;
    const BlockSet moving{.start = distance, .count = WithBit(world, distance), .run = distance};
    schedule.steps.push_back({.round = round,
                              .to = Cyclic(rank + distance, world),
                              .from = Cyclic(rank - distance, world),
                              .send = moving,
                              .receive = moving});
  }
  return schedule;
}

}  // namespace strata
