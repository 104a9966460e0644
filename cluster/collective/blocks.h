// How a buffer is cut into the blocks of a schedule.
#pragma once

#include <cstddef>
#include <vector>

namespace strata {

// offsets[b] .. offsets[b + 1] is block b in bytes; one entry more than blocks, ascending from 0.
using BlockOffsets = std::vector<size_t>;

// Nearly equal blocks of whole elements: block b begins at element b * count / blocks.
void EqualBlocks(size_t count, size_t element_bytes, int blocks, BlockOffsets* offsets);

}  // namespace strata
