// The Bruck map: who exchanges with whom in an allgather of any number of ranks, in
// ceil(log2 n) steps (Bruck et al., "Efficient algorithms for all-to-all communications in
// multiport message-passing systems", IEEE TPDS 1997; partners as LightGBM's linkers number them).
#pragma once

#include <vector>

namespace strata {

// `count` blocks from block `start` on, cyclically modulo the world. Block b belongs to rank b.
struct BlockRange {
  int start = 0;
  int count = 0;
  bool operator==(const BlockRange&) const = default;
};

// One step: blocks `send` go to rank `out` while blocks `recv` come from rank `in`.
struct BruckStep {
  int in = 0;   // (rank + 2^j) mod world
  int out = 0;  // (rank - 2^j) mod world
  BlockRange send;
  BlockRange recv;
};

struct BruckMap {
  int rank = 0;
  int world = 1;
  std::vector<BruckStep> steps;  // empty for a world of one
};

// 0 <= rank < world.
BruckMap MakeBruckMap(int world, int rank);

}  // namespace strata
