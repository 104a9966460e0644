// Schedules with a root. Ranks are counted from it: the tree of any root is that of root 0, turned.
// Each has a file of its own.
#pragma once

#include "cluster/schedule/schedule.h"

namespace strata {

// Before: the root has all blocks. After: every rank has. ceil(lg n) rounds, each with all bytes.
Schedule BinomialBroadcast(int world, int rank, int root);

// The same by a binary tree whose node v has the children 2v+1 and 2v+2, served one after the
// other: at most 2 floor(lg n) rounds; the depth is that of a heap.
Schedule BinaryTreeBroadcast(int world, int rank, int root);

// The same along a chain, in `pieces` pieces (the blocks of this schedule) that follow one another:
// world + pieces - 2 rounds of 1/pieces of the bytes.
Schedule PipelinedBroadcast(int world, int rank, int root, int pieces);

// The same as a scatter and an allgather: 2 ceil(lg n) rounds, 2 (n-1)/n of the bytes (van de
// Geijn, "On Global Combine Operations", 1994).
Schedule ScatterAllgatherBroadcast(int world, int rank, int root);

// Before: the root has all blocks. After: rank r has block r. ceil(lg n) rounds, (n-1)/n of the
// bytes at the root; blocks travel together down a binomial tree.
Schedule BinomialScatter(int world, int rank, int root);

// The same down a binary tree whose node v has the children 2v+1 and 2v+2: at most 2 floor(lg n)
// rounds, (n-1)/n of the bytes at the root.
Schedule BinaryTreeScatter(int world, int rank, int root);

}  // namespace strata
