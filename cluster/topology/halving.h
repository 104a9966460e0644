// The recursive-halving map: who exchanges with whom in a reduce-scatter. With p = the largest
// power of two <= n, n ranks form p groups of one or two; the two of a group first add up in the
// leader, the p leaders halve in log2 p rounds, and at last each leader hands its neighbour's block
// back.
//
// Two conventions say which ranks pair up; all ranks of a job must use the same one:
//   kPairLast   LightGBM's today: the last 2(n-p) ranks form pairs, the left one leads.
//   kFoldFirst  the founding form (also MPICH's): of the first 2(n-p) ranks the even ones fold into
//               the odd one to their right and drop out; the rest are numbered anew, 0..p-1, as
//               virtual ranks: rank/2 for a leader, rank-(n-p) behind the pairs.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cluster/topology/bruck.h"

namespace strata {

enum class HalvingForm : uint8_t { kPairLast, kFoldFirst };
std::string_view HalvingFormName(HalvingForm form);  // "pair-last", "fold-first"

enum class NodeType : uint8_t {
  kNormal,  // alone in its group
  kLeader,  // of a pair: runs the rounds for both
  kOther,   // of a pair: sends its input to the leader, gets its own block back; no rounds
};
std::string_view NodeTypeName(NodeType type);  // "normal", "leader", "other"

// One round with one peer; blocks never wrap around. `recv` is what this rank goes on with.
struct HalvingRound {
  int peer = 0;
  BlockRange send;
  BlockRange recv;
};

struct HalvingMap {
  HalvingForm form = HalvingForm::kPairLast;
  int rank = 0;
  int world = 1;
  NodeType type = NodeType::kNormal;
  int neighbour = -1;     // the other rank of the pair, -1 for a normal node
  int virtual_rank = -1;  // the group's number, -1 for kOther
  std::vector<HalvingRound> rounds;
};

// 0 <= rank < world.
HalvingMap MakeHalvingMap(int world, int rank, HalvingForm form);

}  // namespace strata
