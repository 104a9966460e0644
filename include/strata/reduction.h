// Reductions: how two elements become one. The arithmetic of the reducing collectives.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strata {

enum class ReduceOp : uint8_t { kSum, kMin, kMax, kProduct };

// `apply` makes into[i] = into[i] op from[i] for i < count; both are aligned for the element type.
// It must be commutative, and associative but for rounding: which partial results meet depends on
// the algorithm.
struct Reduction {
  void (*apply)(void* into, const void* from, size_t count, const void* context) = nullptr;
  const void* context = nullptr;  // passed on; outlives the call
  size_t element_bytes = 1;
  uint16_t detail = 0;  // tells element types and operations apart on the wire; 0: no reduction
};

// T: float, double, and the signed and unsigned integers of 1, 2, 4 and 8 bytes. Sums and products
// of integers wrap around. A minimum or maximum keeps the first of two elements that do not
// compare (NaN).
template <typename T>
Reduction MakeReduction(ReduceOp op);

// A reduction of the caller's own, of elements of any plain type. Two custom reductions of equally
// large elements cannot be told apart in frames: that all ranks pass the same is up to the caller.
Reduction CustomReduction(size_t element_bytes,
                          void (*apply)(void* into, const void* from, size_t count,
                                        const void* context),
                          const void* context = nullptr);

}  // namespace strata
