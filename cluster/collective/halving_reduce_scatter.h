// Reduce-scatter by recursive halving, with the pairing step for counts that are no power of two
// (Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
// IJHPCA 2005): floor(log2 n) exchanges, (n-1)/n of the bytes; with pairs two exchanges more, in
// which up to all bytes pass once more.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"
#include "cluster/collective/blocks.h"
#include "cluster/collective/reduce.h"
#include "cluster/link/exchange.h"
#include "cluster/topology/halving.h"

namespace strata {

// In: `buffer` is this rank's input. Out: block rank() of it is the reduction over all ranks; the
// other blocks hold partial sums. Each block is reduced by one rank, in an order that depends on
// the map alone. `scratch` grows to the largest exchange. tag.step moves on alike on all ranks.
Status HalvingReduceScatter(Exchanger& exchanger, HalvingForm form, const Reduction& reduction,
                            ExchangeTag* tag, std::span<std::byte> buffer,
                            const BlockOffsets& offsets, std::vector<std::byte>* scratch);

}  // namespace strata
