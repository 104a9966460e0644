// Bins of a row as the lanes of a warp take them. A lane loads up to 16 that lie side by side, then
// takes one after the other in an order of its own, so that at each step the lanes of a warp are at
// different features, or at different copies of a feature's sums.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace strata::gpu_tree {

// Four bytes by a selector's nibbles: 0 to 3 of `low`, 4 to 7 of `high`; with 8 added, that byte's
// sign in its place.
__device__ inline uint32_t PickBytes(uint32_t low, uint32_t high, uint32_t selector) {
#ifdef __CUDA_ARCH__
  uint32_t picked;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(picked) : "r"(low), "r"(high), "r"(selector));
  return picked;
#else
  uint32_t picked = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const uint32_t nibble = selector >> (4 * i) & 0xf;
    const uint32_t byte = ((nibble & 4) != 0 ? high : low) >> (8 * (nibble & 3)) & 0xff;
    picked |= ((nibble & 8) == 0 ? byte : (byte >> 7) * 0xff) << (8 * i);
  }
  return picked;
#endif
}

// The order in which a lane takes the bins that it has loaded: kBytes, a power of two up to 16, of
// a row of `stride`, a multiple of kBytes.
template <unsigned kBytes>
class LaneBins {
 public:
  // `lane` of a warp, whose rows have `lanes_of_row` lanes each.
  __device__ LaneBins(unsigned lane, unsigned lanes_of_row) {
    const unsigned turn = lane / lanes_of_row % kBytes;
    // The first of the lanes' banks that this one's bins have in turn.
    const unsigned first = lanes_of_row > 1 ? lane % lanes_of_row * kBytes : lane / kBytes * kBytes;
    turns_words_ = turn / 4;
#pragma unroll
    for (unsigned j = 0; j < kInWord; ++j) {
      const unsigned bank = 4 + j;  // a byte of banks_, which has no sign
      selectors_[j] = bank | (j ^ turn % 4) << 4 | (8 | bank) << 8 | (8 | bank) << 12;
    }
#pragma unroll
    for (unsigned i = 0; i < kBytes; ++i) {
      if (i % 4 == 0) banks_[i / 4] = 0;
      banks_[i / 4] |= 4 * (first + (i ^ turn)) << (i % 4 * 8);
    }
  }

  // The bytes from `from` on, which is aligned to kBytes.
  __device__ void Load(const uint8_t* from, uint32_t (&words)[(kBytes + 3) / 4]) const {
    if constexpr (kBytes == 16) {
      const uint4 bins = *reinterpret_cast<const uint4*>(from);
      words[0] = bins.x;
      words[1] = bins.y;
      words[2] = bins.z;
      words[3] = bins.w;
    } else if constexpr (kBytes == 8) {
      const uint2 bins = *reinterpret_cast<const uint2*>(from);
      words[0] = bins.x;
      words[1] = bins.y;
    } else if constexpr (kBytes == 4) {
      words[0] = *reinterpret_cast<const uint32_t*>(from);
    } else if constexpr (kBytes == 2) {
      words[0] = *reinterpret_cast<const uint16_t*>(from);
    } else {
      words[0] = *from;
    }
  }

  // Calls visit(offset) for each bin: bin * 256 + 4 * bank, where no two lanes of a warp have the
  // same bank. Uses up the words.
  template <typename Visit>
  __device__ void ForEach(uint32_t (&words)[(kBytes + 3) / 4], const Visit& visit) const {
    if constexpr (kWords == 4) {
      SwapIf((turns_words_ & 2) != 0, &words[0], &words[2]);
      SwapIf((turns_words_ & 2) != 0, &words[1], &words[3]);
    }
    if constexpr (kWords >= 2) {
#pragma unroll
      for (unsigned t = 0; t < kWords; t += 2) {
        SwapIf((turns_words_ & 1) != 0, &words[t], &words[t + 1]);
      }
    }
#pragma unroll
    for (unsigned i = 0; i < kBytes; ++i) {
      visit(PickBytes(words[i / 4], banks_[i / 4], selectors_[i % 4]));
    }
  }

 private:
  static constexpr unsigned kWords = (kBytes + 3) / 4;
  static constexpr unsigned kInWord = kBytes < 4 ? kBytes : 4;

  static __device__ void SwapIf(bool swaps, uint32_t* a, uint32_t* b) {
    const uint32_t first = swaps ? *b : *a;
    *b = swaps ? *a : *b;
    *a = first;
  }

  unsigned turns_words_;
  uint32_t selectors_[kInWord];
  uint32_t banks_[kWords];  // a byte a step
};

}  // namespace strata::gpu_tree
