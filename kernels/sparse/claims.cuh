// Claims: a table in which each distinct key of a batch takes an entry, without knowing the others.
#pragma once

#include <cuda_runtime.h>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace strata {

// Entries hold positions in the batch, the same one for equal keys. They follow the keys' order, by
// which they will be numbered.
struct Claims {
  static constexpr uint32_t kFree = ~0U;
  uint32_t* positions;
  uint32_t mask;
  uint32_t shift;  // 64 less the bits of the mask

  // At most half of the entries are ever taken.
  static size_t EntriesFor(size_t keys) { return std::bit_ceil(2 * keys); }
  // All of them kFree before the first claim.
  static Claims In(uint32_t* positions, size_t entries) {
    return {positions, static_cast<uint32_t>(entries - 1),
            64 - static_cast<uint32_t>(std::countr_zero(entries))};
  }

  // The entry of position `self`, whose key stands at `order`. is_same(position): its key is the
  // same.
  template <typename IsSame>
  __device__ uint32_t Of(uint64_t order, uint32_t self, const IsSame& is_same) const {
    auto at = static_cast<uint32_t>(order >> shift);
    for (uint32_t tried = 1;; ++tried) {
      const uint32_t there = atomicCAS(positions + at, kFree, self);
      if (there == kFree || is_same(there)) return at;
      // Keys of one neighbourhood, as a scan may bring them, would stand in one long queue: past
      // the first entries each goes its own way, which leads to all of them.
      constexpr uint32_t kNear = 8;
      at = (at + (tried < kNear ? 1 : static_cast<uint32_t>(order) | 1)) & mask;
    }
  }
};

}  // namespace strata
