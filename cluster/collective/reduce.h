// Element-wise reduction of byte buffers: the arithmetic of the reducing collectives.
#pragma once

#include <cstddef>
#include <span>

#include "cluster/collective/group.h"

namespace strata {

// into[i] = into[i] op from[i]; both hold the same number of elements, aligned for their type.
using ReduceFunction = void (*)(std::span<std::byte> into, std::span<const std::byte> from);

// An element type, a reduction and the function for both. `detail` tells them apart in tags.
struct Reduction {
  ReduceFunction apply;
  size_t element_bytes;
  uint8_t detail;
};

// T: float, double, int64_t. Sums of integers wrap around. A minimum or maximum keeps the first of
// two elements that do not compare.
template <typename T>
Reduction MakeReduction(ReduceOp op);

}  // namespace strata
