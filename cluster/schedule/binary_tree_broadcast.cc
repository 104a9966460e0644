#include <algorithm>

#include "cluster/schedule/rooted.h"

namespace strata {
namespace {

// The round in which node v of the tree may send for the first time.
int ReadyIn(int v) {
  int round = 0;
  for (; v > 0; v = (v - 1) / 2) round += v % 2 == 1 ? 1 : 2;
  return round;
}

int Rounds(int world) {
  int rounds = 0;
  for (int v = 0; v < world; ++v) rounds = std::max(rounds, ReadyIn(v));
  return rounds;
}

}  // namespace

Schedule BinaryTreeBroadcast(int world, int rank, int root) {
  Schedule schedule{.world = world, .rank = rank, .blocks = world, .rounds = Rounds(world)};
  const BlockSet all{0, world};
  const int place = Cyclic(rank - root, world);
  const int ready = ReadyIn(place);
  if (place > 0) {
    const int parent = (place - 1) / 2;
    schedule.steps.push_back(
        {.round = ready - 1, .from = Cyclic(parent + root, world), .receive = all});
  }
  for (int child = 0; child < 2; ++child) {
    const int v = 2 * place + 1 + child;
    if (v >= world) break;
    schedule.steps.push_back({.round = ready + child, .to = Cyclic(v + root, world), .send = all});
  }
  return schedule;
}

}  // namespace strata
