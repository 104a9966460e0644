// BlockParts: what a launch over several tables works on, as its kernel takes it by value. A part
// has blocks of its own, from its first_block to the next part's.
#pragma once

#include <cstdint>

namespace strata {

template <typename Part, uint32_t kMax>
struct BlockParts {
  uint32_t count = 0;
  uint32_t blocks = 0;
  Part parts[kMax];

  // Appends a part that has the next blocks, one or more. There is room for it.
  void Add(Part part, uint32_t part_blocks) {
    part.first_block = blocks;
    parts[count++] = part;
    blocks += part_blocks;
  }
  __device__ const Part& OfBlock(uint32_t block) const {
    uint32_t part = 0;
    while (part + 1 < count && parts[part + 1].first_block <= block) ++part;
    return parts[part];
  }
};

}  // namespace strata
