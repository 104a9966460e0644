// Bitonic sorts (K. Batcher, "Sorting networks and their applications", AFIPS 1968) of any length:
// the order of keys, ascending or descending, equal ones by position. In the form whose comparisons
// all point the same way, so that what is behind the end of a length that is no power of two stays
// there and need not exist.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace strata {

// The pair of places that comparison `number` of a step works on. Steps with mirror: the first of a
// merge of two sorted halves of `width` / 2; else places `width` / 2 apart.
struct BitonicPair {
  size_t low;
  size_t high;

  __device__ BitonicPair(size_t number, size_t width, bool mirror) {
    const size_t half = width / 2;
    const size_t within = number & (half - 1);
    const size_t begin = (number & ~(half - 1)) * 2;
    low = begin + within;
    high = mirror ? begin + width - 1 - within : low + half;
  }
};

// Whether the first of two keys comes first; keys are not NaN.
template <bool kAscending, typename Key>
__device__ bool ComesFirst(const Key& a, uint32_t a_place, const Key& b, uint32_t b_place) {
  if (a == b) return a_place < b_place;
  return kAscending ? a < b : b < a;
}

// In a block, all of whose threads call with the same arguments: order[0 .. count) becomes the
// places of keys[0 .. count) in their order. Both in shared or global memory; ends with all threads
// seeing the result.
template <bool kAscending, typename Key>
__device__ void BitonicArgSort(const Key* keys, uint32_t* order, uint32_t count) {
  for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) order[i] = i;
  __syncthreads();
  size_t padded = 1;  // by a loop: nvcc makes nonsense of std::bit_ceil on a GPU
  while (padded < count) padded *= 2;
  for (size_t sorted = 2; sorted <= padded; sorted *= 2) {
    for (size_t width = sorted; width > 1; width /= 2) {
      for (size_t number = threadIdx.x; number < padded / 2; number += blockDim.x) {
        const BitonicPair pair(number, width, width == sorted);
        if (pair.high >= count) continue;
        const uint32_t a = order[pair.low];
        const uint32_t b = order[pair.high];
        if (ComesFirst<kAscending>(keys[a], a, keys[b], b)) continue;
        order[pair.low] = b;
        order[pair.high] = a;
      }
      __syncthreads();
    }
  }
}

}  // namespace strata
