// How a buffer is cut into one block a rank.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cluster/topology/bruck.h"

namespace strata {

// offsets[b] .. offsets[b + 1] is block b in bytes; world + 1 entries, ascending from 0.
using BlockOffsets = std::vector<size_t>;

// Nearly equal blocks of whole elements: block b begins at element b * count / world.
void EqualBlocks(size_t count, size_t element_bytes, int world, BlockOffsets* offsets);

// The bytes of a range of blocks that does not wrap around.
template <typename Byte>
std::span<Byte> BytesOf(std::span<Byte> buffer, const BlockOffsets& offsets, BlockRange range) {
  const size_t begin = offsets[static_cast<size_t>(range.start)];
  const size_t end = offsets[static_cast<size_t>(range.start) + static_cast<size_t>(range.count)];
  return buffer.subspan(begin, end - begin);
}

}  // namespace strata
