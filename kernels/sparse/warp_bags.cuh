// Warps over bags: each lane has one of 32 that lie one behind the other, and then each a key of
// theirs, so that what is read and written by key lies together whatever the bags' lengths are.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/hashmap/map_device.cuh"

namespace strata {

// Calls visit(key, is_one, lane) for the keys from lane 0's begin to lane 31's end, 32 at a time,
// all lanes together; is_one is false behind that end. `lane` has the key's bag: the first that
// ends behind it.
template <typename Visit>
__device__ void ForKeysOfBags(uint32_t own_begin, uint32_t own_end, const Visit& visit) {
  const uint32_t end = __shfl_sync(~0U, own_end, 31);
  for (uint32_t first = __shfl_sync(~0U, own_begin, 0); first < end; first += 32) {
    const uint32_t key = first + Lane();
    uint32_t lane = 0;
    for (uint32_t step = 16; step > 0; step /= 2) {
      const uint32_t before = __shfl_sync(~0U, own_end, static_cast<int>(lane + step - 1));
      if (before <= key) lane += step;
    }
    visit(key, key < end, static_cast<int>(lane));
  }
}

}  // namespace strata
