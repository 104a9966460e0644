// Schedule: what one rank does in a collective: with whom, in which round, with which blocks. Pure
// data, computed from (world, rank, root) alone, so that the same schedule runs over links, between
// threads, in the simulator, and in a checker that knows nothing but sets.
//
// A buffer is cut into `blocks` blocks. Most algorithms have one block a rank, in rank order; those
// that move the whole buffer at once still name all its blocks. A step is one exchange: a send and
// a receive that run at the same time, either of which may be missing.
#pragma once

#include <cstdint>
#include <vector>

namespace strata {

// `count` blocks from `start` on, cyclically. With run > 0 they lie in runs of `run` blocks with
// gaps of `run` blocks between them (the blocks whose number has one certain bit set: Bruck's
// all-to-all); such a set never wraps around.
struct BlockSet {
  int start = 0;
  int count = 0;
  int run = 0;
  bool operator==(const BlockSet&) const = default;
};

enum class OnArrival : uint8_t {
  kPlace,   // received blocks replace this rank's
  kReduce,  // received blocks are combined into this rank's
};

struct Step {
  int round = 0;  // both ends of an exchange are in the same one; ascending within a schedule
  int to = -1;    // -1: nothing is sent
  int from = -1;  // -1: nothing is received
  BlockSet send = {};
  BlockSet receive = {};
  OnArrival on_arrival = OnArrival::kPlace;
};

struct Schedule {
  int world = 1;
  int rank = 0;
  int blocks = 1;
  int rounds = 0;                // of the whole collective: the same on all ranks
  std::vector<Step> steps = {};  // of this rank, in order
};

// Calls visit(first, count) for each run of neighbouring blocks of the set, in the order in which
// they travel. Both ends of an exchange cut their sets alike, block by block.
template <typename Visit>
void VisitRuns(const BlockSet& set, int blocks, const Visit& visit) {
  if (set.run > 0) {
    int left = set.count;
    for (int first = set.start; left > 0; first += 2 * set.run) {
      const int count = left < set.run ? left : set.run;
      visit(first, count);
      left -= count;
    }
    return;
  }
  const int first = set.count < blocks - set.start ? set.count : blocks - set.start;
  if (first > 0) visit(set.start, first);
  if (set.count > first) visit(0, set.count - first);
}

// Whether the two sets have a block in common.
bool Overlap(const BlockSet& a, const BlockSet& b, int blocks);

// `second` behind `first`: its rounds are counted on. Both are of the same rank, world and blocks.
Schedule Then(Schedule first, const Schedule& second);

// ceil(log2 n) and floor(log2 n), for n >= 1.
int CeilLog2(int n);
int FloorLog2(int n);

// a modulo n in 0..n-1, for any a from -n on.
inline int Cyclic(int a, int n) { return (a + n) % n; }

}  // namespace strata
