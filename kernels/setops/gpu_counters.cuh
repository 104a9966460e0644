// A block's counters on a GPU: a byte for each document, in the shared memory of a block of
// threads. Where a query's lists are, how lists of bits join the counters, and which counters are
// large enough.
#pragma once

#include "kernels/setops/add_bits.h"
#include "kernels/setops/gpu_sets.cuh"

namespace strata::gpu_sets {

inline constexpr unsigned kWarp = 32;
inline constexpr unsigned kCounters = 65'536;
inline constexpr unsigned kAtOnce = 16;  // counters that a thread looks at together
inline constexpr unsigned kMostTokens = 256;
inline constexpr unsigned kDigits = 8;     // of an overlap
inline constexpr unsigned kFewDigits = 5;  // of most

// How long documents in a row are, kAtOnce of a block; kLengths - 1: as long or longer.
struct LengthRange {
  uint8_t least;
  uint8_t most;

  // Whether a document's length is to be looked up.
  STRATA_HD bool is_mixed() const { return least != most || most == kLengths - 1; }
};
inline constexpr unsigned kLengthRanges = kCounters / kAtOnce;  // of a block

// The list of a token in a block; begin == end: there is none.
struct FoundList {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool is_frequent = false;  // begin is where its bits begin
};

__device__ inline FoundList FindList(const Block& block, Token token) {
  uint32_t list = token;
  if (token >= block.direct) {
    const uint32_t place = PlaceOf(block.rare, block.rare_count, token);
    if (place == block.rare_count) return {};
    list = block.direct + place;
  }
  const FoundList plain{block.starts[list], block.starts[list + 1]};
  if (plain.begin != plain.end || block.frequent_count == 0) return plain;
  const uint32_t place = PlaceOf(block.frequent, block.frequent_count, list);
  if (place == block.frequent_count) return {};
  return {place * block.words, place * block.words + block.words, true};
}

// 32 documents a thread: their bits of all frequent lists, which begin at lists[0 .. count), are
// added up in columns (digit p of document i is bit i of digits[p]), whose digits then join the
// documents' counters. A thread asks for the bits of so many `kSides` at once, as they take long to
// come. All threads of a block.
template <unsigned kUsed, unsigned kSides>
__device__ void CountFrequentOf(const Block& block, const uint32_t* lists, uint32_t count,
                                uint4* counters) {
  constexpr unsigned kAtATime = 8;  // lists
  auto* const words = reinterpret_cast<uint32_t*>(counters);
  for (uint32_t first = threadIdx.x; first < block.words; first += kSides * blockDim.x) {
    uint32_t digits[kSides][kUsed] = {};
    for (uint32_t list = 0; list < count; list += kAtATime) {
      uint32_t bits[kSides][kAtATime];
#pragma unroll
      for (unsigned side = 0; side < kSides; ++side) {
        const uint32_t word = first + side * blockDim.x;
#pragma unroll
        for (unsigned i = 0; i < kAtATime; ++i) {
          const bool is_there = list + i < count && word < block.words;
          bits[side][i] = is_there ? block.bits[lists[list + i] + word] : 0;
        }
      }
#pragma unroll
      for (unsigned side = 0; side < kSides; ++side) {
        uint32_t* const of = digits[side];
        uint32_t fours[2];
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
          const uint32_t* const four = bits[side] + 4 * half;
          const uint32_t two_a = AddBits(of[0], four[0], four[1]);
          const uint32_t two_b = AddBits(of[0], four[2], four[3]);
          fours[half] = AddBits(of[1], two_a, two_b);
        }
        uint32_t carry = AddBits(of[2], fours[0], fours[1]);
#pragma unroll
        for (unsigned p = 3; p < kUsed; ++p) {
          const uint32_t both = of[p] & carry;
          of[p] ^= carry;
          carry = both;
        }
      }
    }
    // Four documents a word of counters; neighbours of a warp begin elsewhere, as their words lie
    // in the same banks.
#pragma unroll
    for (unsigned side = 0; side < kSides; ++side) {
      const uint32_t word = first + side * blockDim.x;
      if (word >= block.words) break;
      for (unsigned i = 0; i < 8; ++i) {
        const unsigned four = (i + threadIdx.x / 4) % 8;
        uint32_t sum = 0;
#pragma unroll
        for (unsigned p = 0; p < kUsed; ++p) {
          sum += ((digits[side][p] >> four * 4 & 0xF) * 0x0020'4081U & 0x0101'0101U) << p;
        }
        words[word * 8 + four] += sum;
      }
    }
  }
}

// The same with as many digits as the count takes.
template <unsigned kSides>
__device__ void CountFrequent(const Block& block, const uint32_t* lists, uint32_t count,
                              uint4* counters) {
  if (count < 1U << kFewDigits) {
    CountFrequentOf<kFewDigits, kSides>(block, lists, count, counters);
  } else {
    CountFrequentOf<kDigits, kSides>(block, lists, count, counters);
  }
}

// The tops of those bytes that are at least `least`, from 1 on.
__device__ inline uint32_t AsLarge(uint32_t bytes, uint32_t least) {
  return __vcmpgeu4(bytes, least * 0x0101'0101U) & 0x8080'8080U;
}

// Bit 4 i + j: whether byte j of word i is at least `least`, from 1 on.
__device__ inline uint32_t PlacesAsLarge(const uint4& all, uint32_t least) {
  uint32_t found = 0;
  const uint32_t words[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    // Four tops side by side: a product moves each to a place of its own.
    found |= ((AsLarge(words[i], least) >> 7) * 0x0020'4081U >> 21 & 0xF) << 4 * i;
  }
  return found;
}

// Byte i % 4 of word i / 4.
__device__ inline uint32_t ByteOf(const uint4& all, unsigned i) {
  const uint32_t word = i < 8 ? (i < 4 ? all.x : all.y) : (i < 12 ? all.z : all.w);
  return word >> i % 4 * 8 & 0xFF;
}

}  // namespace strata::gpu_sets
