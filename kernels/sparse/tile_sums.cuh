// TileSums: sums over tiles of an array in one pass over it. Each block takes a tile and sums it;
// what the tiles before it have, it reads off what their blocks have said so far, back to one that
// knew its own sum before ("decoupled look-back", Merrill and Garland 2016).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/hashmap/map_device.cuh"

namespace strata {

// Of all lanes of the warp.
inline __device__ uint32_t WarpSum(uint32_t x) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) x += __shfl_xor_sync(~0U, x, apart);
  return x;
}

// Sums are modulo 2^32.
struct TileSums {
  // What is known of a tile.
  static constexpr unsigned long long kNothing = 0;
  static constexpr unsigned long long kOwn = 1;    // the tile's sum
  static constexpr unsigned long long kWhole = 2;  // that of all up to it

  // How many tiles are taken, then a word a tile: which of these in the upper half, the sum in the
  // lower one. Both come in one store, so that no fence has to order them.
  unsigned long long* words;

  // All of them zero before the launch.
  static constexpr size_t WordsFor(size_t tiles) { return 1 + tiles; }

  // A tile that no block has, by one thread of a block. Those before it are taken, so their blocks
  // run, and can be waited for.
  __device__ uint32_t Take() const { return static_cast<uint32_t>(atomicAdd(words, 1ULL)); }

  // Shared by the warps of a block, as each has a part of its tile.
  template <uint32_t kWarps>
  struct OfBlock {
    static_assert(kWarps <= 32);
    uint32_t tile;
    uint32_t before;
    uint32_t of_warps[kWarps];
  };
  // Take for all threads of a block.
  template <uint32_t kWarps>
  __device__ uint32_t TakeByBlock(OfBlock<kWarps>* shared) const {
    if (threadIdx.x == 0) shared->tile = Take();
    __syncthreads();
    return shared->tile;
  }
  // The sum of all tiles before this one and of the block's warps before this one, whose own sum is
  // `own`. By all threads of the block, once.
  template <uint32_t kWarps>
  __device__ uint32_t BeforeWarp(uint32_t tile, uint32_t own, OfBlock<kWarps>* shared) const {
    const uint32_t warp = threadIdx.x / 32;
    if (Lane() == 0) shared->of_warps[warp] = own;
    __syncthreads();
    const uint32_t of_warp = Lane() < kWarps ? shared->of_warps[Lane()] : 0;
    const uint32_t before_in_tile = WarpSum(Lane() < warp ? of_warp : 0);
    if (warp == 0) {
      const uint32_t before_tile = Before(tile, WarpSum(of_warp));
      if (Lane() == 0) shared->before = before_tile;
    }
    __syncthreads();
    return shared->before + before_in_tile;
  }

  // By one thread, so that tiles behind this one need not wait until its own block asks.
  __device__ void Tell(uint32_t tile, uint32_t own) const { Say(tile, kOwn, own); }
  // The sum of all tiles before this one, whose own sum is `own`. By one whole warp of its block.
  __device__ uint32_t Before(uint32_t tile, uint32_t own) const {
    if (Lane() == 0) Say(tile, kOwn, own);
    uint32_t before = 0;
    for (uint32_t end = tile;; end -= 32) {    // 32 tiles at once, the nearest one lane 0's
      unsigned long long word = kWhole << 32;  // of what is before the first tile
      do {
        if (Lane() < end) word = Said(end - 1 - Lane());
      } while (__ballot_sync(~0U, word >> 32 == kNothing) != 0);
      const uint32_t whole = __ballot_sync(~0U, word >> 32 == kWhole);
      const bool counts =
          whole == 0 || Lane() < static_cast<uint32_t>(__ffs(static_cast<int>(whole)));
      before += WarpSum(counts ? static_cast<uint32_t>(word) : 0);
      if (whole != 0) break;
    }
    if (Lane() == 0) Say(tile, kWhole, before + own);
    return before;
  }

 private:
  __device__ void Say(uint32_t tile, unsigned long long what, uint32_t sum) const {
    *const_cast<volatile unsigned long long*>(words + 1 + tile) = what << 32 | sum;
  }
  __device__ unsigned long long Said(uint32_t tile) const {
    return *const_cast<const volatile unsigned long long*>(words + 1 + tile);
  }
};

}  // namespace strata
