// Schedules in which every rank has a block for every other one, and the barrier. Each has a file
// of its own.
#pragma once

#include "cluster/schedule/schedule.h"

namespace strata {

// n - 1 rounds; in round i a block goes straight to the rank i + 1 further on. Sends name blocks of
// the input (block b is for rank b), receives those of the output (block b is from rank b); a
// rank's own block is not part of the schedule.
Schedule PairwiseAllToAll(int world, int rank);

// ceil(lg n) rounds, each with half of all blocks (Bruck et al. 1997). Blocks are numbered by how
// far they have to go: before, block d is for rank + d; after, block d is from rank - d. In round j
// the blocks with bit j set travel 2^j ranks on; they may hold other ranks' data on the way.
Schedule BruckAllToAll(int world, int rank);

// No block moves: in round j a rank tells rank + 2^j that it is there, so after ceil(lg n) rounds
// it has heard from all, if only by way of others (Hensgen, Finkel and Manber 1988).
Schedule DisseminationBarrier(int world, int rank);

}  // namespace strata
