#include <algorithm>
#include <map>

#include "cluster/schedule/rooted.h"

namespace strata {
namespace {

// Places of a heap: its levels are runs of neighbours, and so are the descendants of a node on each
// of them.
struct HeapRun {
  int first;
  int count;

  // Those of `node` that are `levels` below it, in a heap of `world` nodes.
  static HeapRun Below(int node, int levels, int world) {
    const int first = ((node + 1) << levels) - 1;
    return {first, std::clamp(world - first, 0, 1 << levels)};
  }
};

}  // namespace

// The blocks of a level travel together, the deepest level first, and a level follows the one below
// it two rounds later. Then a node receives the blocks of one level while it sends on those of the
// next.
Schedule BinaryTreeScatter(int world, int rank, int root) {
  if (world == 1) return {};
  const int depth = FloorLog2(world);
  const int place = Cyclic(rank - root, world);
  const int own_level = FloorLog2(place + 1);
  const auto at = [&](int node) { return Cyclic(node + root, world); };
  // Where the second child of the root has nothing on the deepest level, nobody sends in round 1.
  const bool is_short = HeapRun::Below(2, depth - 1, world).count == 0;
  // The round in which a node of `level` sends the blocks of level `of` to one of its children.
  const auto round_of = [&](int of, int level, int child) {
    const int round = 2 * (depth - of) + 2 * level + child;
    return is_short && round > 1 ? round - 1 : round;
  };

  std::map<int, Step> by_round;
  const auto step_in = [&](int round) -> Step& {
    Step& step = by_round[round];
    step.round = round;
    return step;
  };
  for (int of = own_level; of <= depth && place > 0; ++of) {
    const HeapRun run = HeapRun::Below(place, of - own_level, world);
    if (run.count == 0) break;
    Step& step = step_in(round_of(of, own_level - 1, (place - 1) % 2));
    step.from = at((place - 1) / 2);
    step.receive = {at(run.first), run.count};
  }
  for (int of = own_level + 1; of <= depth; ++of) {
    for (int child = 0; child < 2; ++child) {
      const int node = 2 * place + 1 + child;
      const HeapRun run = HeapRun::Below(node, of - own_level - 1, world);
      if (run.count == 0) continue;
      Step& step = step_in(round_of(of, own_level, child));
      step.to = at(node);
      step.send = {at(run.first), run.count};
    }
  }
  Schedule schedule{.world = world, .rank = rank, .blocks = world};
  schedule.rounds = 2 * depth - (is_short ? 1 : 0);
  for (const auto& [round, step] : by_round) schedule.steps.push_back(step);
  return schedule;
}

}  // namespace strata
