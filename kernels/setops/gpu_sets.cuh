// What the kernels of GpuSets share.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/setops/set_metric.h"
#include "strata/set_list.h"

namespace strata::gpu_sets {

inline constexpr unsigned kBuckets = 4096;  // of similarities, for thresholds
inline constexpr unsigned kLengths = 256;   // of documents; longer ones share the last
inline constexpr unsigned kRoom = 16'384;   // candidates of a query
inline constexpr unsigned kQueriesAtOnce = 2048;
inline constexpr unsigned kMostSelected = 2048;

inline constexpr unsigned kTile = 32;        // documents side by side (gpu_index.cuh)
inline constexpr unsigned kGroup = 8;        // tokens of a document together
inline constexpr uint16_t kNoRank = 0xFFFF;  // instead of a token's rank

// A SetBlock on the GPU.
struct Block {
  const uint32_t* starts;
  const uint16_t* postings;
  const Token* rare;
  const uint32_t* frequent;
  const uint32_t* bits;  // `words` for each frequent list
  const uint32_t* lengths;
  const DocumentId* ids;
  const uint32_t* tiles;  // how many groups are before a tile
  uint32_t direct;
  uint32_t rare_count;
  uint32_t frequent_count;
  uint32_t size;
  uint32_t words;  // of 32 bits
};

// The place of `value` among ascending values, or `count`.
STRATA_HD uint32_t PlaceOf(const uint32_t* values, uint32_t count, uint32_t value) {
  uint32_t low = 0;
  uint32_t high = count;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (values[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < count && values[low] == value ? low : count;
}

struct Candidate {
  uint32_t document;  // block * 65,536 + place
  uint32_t overlap;
};

struct Ranges {
  const uint64_t* offsets;  // of queries' tokens
  const Token* tokens;
  uint32_t queries;
};

// By query.
struct Thresholds {
  Fraction* at_least;
  uint8_t* overlaps;  // [query][kLengths]: the least overlap; it grows with the length
  uint32_t* buckets;  // [query][kBuckets]: documents of the sample
};

// Of similarities from 0 to 1, and of plain overlaps: at least edge b is whatever is in bucket b.
STRATA_HD uint32_t BucketOf(SetMetric metric, Fraction similarity) {
  if (metric == SetMetric::kOverlap) {
    return similarity.num < kBuckets ? static_cast<uint32_t>(similarity.num) : kBuckets - 1;
  }
  // Of overlaps that fit a byte all but the longest documents' are numbers of 32 bits, which GPUs
  // divide several times faster.
  const uint64_t num = similarity.num * kBuckets;
  const bool is_short = (num | similarity.den) >> 32 == 0;
  const uint64_t bucket = is_short
                              ? static_cast<uint32_t>(num) / static_cast<uint32_t>(similarity.den)
                              : num / similarity.den;
  return bucket < kBuckets ? static_cast<uint32_t>(bucket) : kBuckets - 1;
}
STRATA_HD Fraction EdgeOf(SetMetric metric, uint32_t bucket) {
  return {bucket, metric == SetMetric::kOverlap ? 1U : kBuckets};
}

// Of the same query, larger is more alike; equally alike documents of up to 255 tokens alone have
// the same. KeyUnit() is that of similarity 1, which overlaps are up to 255 times.
STRATA_HD uint64_t KeyUnit(SetMetric metric) {
  return uint64_t{1} << (metric == SetMetric::kOverlap ? 23 : 31);
}
STRATA_HD uint32_t KeyOf(SetMetric metric, Fraction similarity) {
  return static_cast<uint32_t>(similarity.num * KeyUnit(metric) / similarity.den);
}

}  // namespace strata::gpu_sets
