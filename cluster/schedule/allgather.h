// Schedules that bring every block to every rank. Before: block `rank` is there. After: all are.
// Each has a file of its own.
#pragma once

#include "cluster/schedule/schedule.h"
#include "cluster/topology/halving.h"

namespace strata {

// Any world, ceil(lg n) rounds, (n-1)/n of the bytes: optimal in both. The map of
// cluster/topology/bruck.h.
Schedule BruckAllgather(int world, int rank);

// The recursive-halving map backwards: lg n rounds when n = 2^k. Otherwise the pairs of `form`
// fold: the other rank's block goes to its leader first and all blocks come back last, two rounds
// more.
Schedule DoublingAllgather(int world, int rank, HalvingForm form);

// n - 1 rounds, each with one block to the right-hand neighbour.
Schedule RingAllgather(int world, int rank);

}  // namespace strata
