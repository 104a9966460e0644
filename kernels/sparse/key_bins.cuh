// What the kernels of key_bins.h leave each other.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/hashmap/map_device.cuh"
#include "kernels/sparse/key_bins.h"
#include "kernels/sparse/scratch.h"
#include "kernels/sparse/tile_sums.cuh"
#include "strata/gpu/shuffle.cuh"

namespace strata {

// A key of a bin: 16 bytes, so that a row of them is written at once.
struct alignas(16) DealtKey {
  uint64_t key;
  uint32_t position;
  uint32_t hash;  // of bits that do not say which bin
};

constexpr uint32_t kOwnSlots = 4096;
static_assert(kOwnSlots >= 2 * (BinPlan::kOwn + BinPlan::kOwnLeast * kGroupTablesMax));
constexpr uint32_t kPlaceBins = 32;  // of a block of threads
constexpr uint32_t kPlaceThreads = 1024;

constexpr uint32_t Parts(size_t all, size_t of_part) {
  return static_cast<uint32_t>((all + of_part - 1) / of_part);
}

// In scratch.
struct KeyBins {
  // Zeros to begin with: one array.
  TileSums places;       // over kPlaceBins bins each
  TileSums numbers;      // over blocks of CombineBins
  uint32_t* own_counts;  // by table: bins of one key that are taken
  uint32_t* own_bins;    // a hash table of such keys: the bin and 1, 0 for none

  uint64_t* own_bins_keys;  // in the same slots
  uint64_t* own_keys;       // by bin
  uint16_t* counts;         // [tile][bin]
  uint32_t* offsets;        // [tile][bin]: where the tile's keys of the bin begin in the order
  uint32_t* starts;         // by bin, and where the last ends
  DealtKey* dealt;

  static size_t ZeroBytes(uint32_t bins, uint32_t blocks) {
    return (TileSums::WordsFor(Parts(bins, kPlaceBins)) + TileSums::WordsFor(blocks)) *
               sizeof(unsigned long long) +
           (kGroupTablesMax + kOwnSlots) * sizeof(uint32_t);
  }

  KeyBins(const BinPlan& plan, std::span<std::byte> zeros, Scratch* scratch) {
    auto* words = reinterpret_cast<unsigned long long*>(zeros.data());
    places = {words};
    words += TileSums::WordsFor(Parts(plan.bins, kPlaceBins));
    numbers = {words};
    own_counts = reinterpret_cast<uint32_t*>(words + TileSums::WordsFor(plan.blocks));
    own_bins = own_counts + kGroupTablesMax;
    own_bins_keys = scratch->Take<uint64_t>(kOwnSlots);
    own_keys = scratch->Take<uint64_t>(plan.bins);
    counts = scratch->Take<uint16_t>(size_t{plan.tiles} * plan.bins);
    offsets = scratch->Take<uint32_t>(size_t{plan.tiles} * plan.bins);
    starts = scratch->Take<uint32_t>(plan.bins + 1);
    dealt = scratch->Take<DealtKey>(plan.keys);
  }
};

// Fills all of `bins`, which begin as zeros, and of `order` the keys that have a bin each. Readies
// the counts of `distinct`.
void DealKeys(const BinPlan& plan, const uint64_t* keys, const KeyBins& bins,
              const DistinctKeys& distinct, cudaStream_t stream);
// What a block of threads takes of a GPU's shared memory for it, at the most.
constexpr size_t kDealSharedMost = size_t{227} * 1024;

}  // namespace strata
