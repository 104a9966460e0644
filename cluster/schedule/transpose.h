// The transpose of a schedule: time runs backwards and each message the other way.
//
// What spreads becomes what collects: an allgather read backwards, with received blocks added
// instead of placed, is a reduce-scatter with the same rounds, the same bytes and the same peers; a
// broadcast becomes a reduce to the root, a scatter a gather. (Bruck et al. 1997 for the pair
// "concatenation and reduction"; for the circulant form: Traeff, "Optimal, Non-pipelined
// Reduce-scatter and Allreduce Algorithms", 2025.) Each contribution travels the edges of the tree
// on which that rank's copy of the block arrived, so it is counted once; docs/collectives.md.
#pragma once

#include "cluster/schedule/schedule.h"

namespace strata {

Schedule Transposed(const Schedule& schedule, OnArrival on_arrival);

}  // namespace strata
