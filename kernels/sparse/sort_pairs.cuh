// A stable sort of pairs by CUB: keys and 32-bit values, by the low bits of the keys.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cub/device/device_radix_sort.cuh>

#include "kernels/sparse/scratch.h"

namespace strata {

// Keys of 25 to 27 bits, as slots of 20 million rows have, take three passes of nine bits where
// CUB's own choice, eight, needs four. Its tiles are for arrays that fill a GPU many times over:
// smaller ones spread a batch of a million or two evenly, and fewer blocks with larger histograms
// of their own have less to add up in the end.
struct NineBitDigits {
  static constexpr bool kUse = true;
  static constexpr int kBits = 9;
  static constexpr int kCubBits = 8;
  static constexpr int kThreads = 512;
  static constexpr int kItems = 13;  // of a thread
  static constexpr int kHistogramThreads = 1024;
  static constexpr int kHistogramItems = 8;

  static constexpr int PassesOf(int key_bits, int digit_bits) {
    return (key_bits + digit_bits - 1) / digit_bits;
  }
  // Whether they save a pass.
  static constexpr bool AreFor(size_t key_bytes, int key_bits) {
    return kUse && key_bytes == sizeof(uint32_t) &&
           PassesOf(key_bits, kBits) < PassesOf(key_bits, kCubBits);
  }
};

// What CUB's dispatch asks of a policy. Used for 32-bit keys alone.
struct NineBitPolicyHub {
  struct MaxPolicy : cub::ChainedPolicy<500, MaxPolicy, MaxPolicy> {
    static constexpr bool ONESWEEP = true;
    static constexpr int ONESWEEP_RADIX_BITS = NineBitDigits::kBits;
    using HistogramPolicy = cub::AgentRadixSortHistogramPolicy<NineBitDigits::kHistogramThreads,
                                                               NineBitDigits::kHistogramItems, 1,
                                                               uint32_t, NineBitDigits::kBits>;
    using ExclusiveSumPolicy =
        cub::AgentRadixSortExclusiveSumPolicy<1 << NineBitDigits::kBits, NineBitDigits::kBits>;
    using OnesweepPolicy =
        cub::AgentRadixSortOnesweepPolicy<NineBitDigits::kThreads, NineBitDigits::kItems, uint32_t,
                                          1, cub::RADIX_RANK_MATCH_EARLY_COUNTS_ANY,
                                          cub::BLOCK_SCAN_RAKING_MEMOIZE,
                                          cub::RADIX_SORT_STORE_DIRECT, NineBitDigits::kBits>;
    // Of arrays that one block sorts at once.
    using SingleTilePolicy =
        cub::AgentRadixSortDownsweepPolicy<256, 19, uint32_t, cub::BLOCK_LOAD_DIRECT, cub::LOAD_LDG,
                                           cub::RADIX_RANK_MEMOIZE, cub::BLOCK_SCAN_WARP_SCANS, 6>;
  };
};

// Two arrays each, between which the passes go back and forth.
template <typename Key>
struct SortedPairs {
  cub::DoubleBuffer<Key> keys;
  cub::DoubleBuffer<uint32_t> values;
};

// Without scratch: how much of it is needed.
template <typename Key>
void SortOrAsk(SortedPairs<Key>* pairs, size_t count, int bits, void* scratch, size_t* bytes,
               cudaStream_t stream) {
  if constexpr (sizeof(Key) == sizeof(uint32_t)) {
    if (NineBitDigits::AreFor(sizeof(Key), bits)) {
      (void)cub::DispatchRadixSort<cub::SortOrder::Ascending, Key, uint32_t, uint32_t,
                                   cub::detail::identity_decomposer_t,
                                   NineBitPolicyHub>::Dispatch(scratch, *bytes, pairs->keys,
                                                               pairs->values,
                                                               static_cast<uint32_t>(count), 0,
                                                               bits, true, stream);
      return;
    }
  }
  (void)cub::DeviceRadixSort::SortPairs(scratch, *bytes, pairs->keys, pairs->values,
                                        static_cast<int>(count), 0, bits, stream);
}

// Enough for at most so many pairs, whatever bits they are sorted by.
template <typename Key>
size_t SortScratchBytes(size_t count) {
  SortedPairs<Key> none;
  size_t most = 0;
  for (const int bits : {27, static_cast<int>(sizeof(Key) * 8)}) {
    size_t bytes = 0;
    SortOrAsk(&none, count, bits, nullptr, &bytes, nullptr);
    most = std::max(most, bytes);
  }
  return ScratchAligned(most);
}

// Whether the sorted pairs will be in the arrays that the pairs come in, not in the others. That is
// a guess: CUB sorts few pairs in one pass.
template <typename Key>
bool EndsWhereItBegins(int bits) {
  const int digit_bits =
      NineBitDigits::AreFor(sizeof(Key), bits) ? NineBitDigits::kBits : NineBitDigits::kCubBits;
  return NineBitDigits::PassesOf(bits, digit_bits) % 2 == 0;
}

// Sorts the current arrays by bits 0 to `bits` - 1; which ones are current then says where the
// pairs are. At most 2^31 - 1 of them.
template <typename Key>
void SortPairs(SortedPairs<Key>* pairs, size_t count, int bits, Scratch* scratch,
               cudaStream_t stream) {
  size_t bytes = SortScratchBytes<Key>(count);
  SortOrAsk(pairs, count, bits, scratch->Take<std::byte>(bytes), &bytes, stream);
}

}  // namespace strata
