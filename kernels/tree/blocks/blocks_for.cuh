// How many blocks of threads a launch takes.
#pragma once

#include <algorithm>
#include <cstdint>

namespace strata::gpu_tree {

// Blocks of threads that take `of_block` each of `count`; one at least.
inline unsigned BlocksFor(uint64_t count, uint64_t of_block) {
  return static_cast<unsigned>(std::max<uint64_t>(1, (count + of_block - 1) / of_block));
}

}  // namespace strata::gpu_tree
