// Allgather by the Bruck map: ceil(log2 n) exchanges, (n-1)/n of the bytes on the critical path,
// any number of ranks, blocks of any sizes. Blocks lie at their final places from the start: a
// cyclic range of blocks is at most two contiguous pieces, so nothing is rotated at the end.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.h"
#include "cluster/collective/blocks.h"
#include "cluster/link/exchange.h"

namespace strata {

// In: block rank() of `buffer` is filled. Out: all blocks are. tag.step is the first step and moves
// on by the number of exchanges.
Status BruckAllgather(Exchanger& exchanger, ExchangeTag* tag, std::span<std::byte> buffer,
                      const BlockOffsets& offsets);

}  // namespace strata
