// How much memory of a GPU documents take, known before they are there.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/setops/set_block.h"

namespace strata {

// Bounds, in bytes.
struct GpuBytes {
  size_t kept = 0;     // GpuSets::bytes() of them
  size_t passing = 0;  // besides, while they are brought there
  size_t all() const { return kept + passing; }
};

inline constexpr size_t kBlocksSortedAtOnce = 6;  // by a GPU, while documents are brought there

// Of one GpuSets of the blocks. It takes no look at documents.
GpuBytes GpuBytesOf(std::span<const SetBlock* const> blocks);

}  // namespace strata
