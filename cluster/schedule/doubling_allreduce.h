// Allreduce by recursive doubling: lg n rounds, each with all bytes both ways.
#pragma once

#include "cluster/schedule/schedule.h"
#include "cluster/topology/halving.h"

namespace strata {

// When n is no power of two, the pairs of `form` fold: the leader takes the other's input first and
// gives it the result last, two rounds more. Both ranks of an exchange combine the same two partial
// results, so a commutative operation gives the same bits on all ranks.
Schedule DoublingAllreduce(int world, int rank, HalvingForm form);

}  // namespace strata
