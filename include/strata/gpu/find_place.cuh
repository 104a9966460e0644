// What a kernel of one's own does with a MapRef: it finds a key's row, which is at
// map.RowOf(place).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "strata/gpu/map_ref.h"

namespace strata {

inline __device__ uint4 LoadLine(const MapRef& map, uint64_t bucket) {
  return reinterpret_cast<const uint4*>(map.lines)[bucket];
}
inline __device__ uint32_t MarksOf(const uint4& line) { return line.w >> 24; }

// The slots of the line whose digest is `digest4`'s, a bit each.
inline __device__ uint32_t SlotsWith(const uint4& line, uint32_t digest4) {
  const auto of_word = [digest4](uint32_t word) {  // the lowest bit of each byte, side by side
    return (__vcmpeq4(word, digest4) & 0x01010101U) * 0x01020408U >> 24;
  };
  return (of_word(line.x) | of_word(line.y) << 4 | of_word(line.z) << 8 | of_word(line.w) << 12) &
         ((1U << kBucketSlots) - 1);
}

inline __device__ uint64_t FindInBucket(const MapRef& map, uint64_t bucket, const uint4& line,
                                        uint32_t digest4, uint64_t key) {
  // Over bits: lanes that find what they look for in different words stay together.
  for (uint32_t slots = SlotsWith(line, digest4); slots != 0; slots &= slots - 1) {
    const uint64_t place =
        bucket * kLineBytes + static_cast<uint32_t>(__ffs(static_cast<int>(slots)) - 1);
    if (map.HeaderOf(place)->key == key) return place;
  }
  return kNowhere;
}

// The key's slot, or kNowhere.
inline __device__ uint64_t FindPlace(const MapRef& map, uint64_t key) {
  uint64_t hash = map.First(key);
  const uint32_t digest4 = MapRef::DigestOf(hash) * 0x01010101U;
  for (uint32_t tried = 0; tried < map.pairs_tried; ++tried) {
    const uint64_t bucket = map.BucketOf(hash);
    const uint4 line = LoadLine(map, bucket);
    uint64_t place = FindInBucket(map, bucket, line, digest4, key);
    if (place != kNowhere || (MarksOf(line) & kMarkOther) == 0) return place;
    place = FindInBucket(map, bucket ^ 1, LoadLine(map, bucket ^ 1), digest4, key);
    if (place != kNowhere || (MarksOf(line) & kMarkBeyond) == 0) return place;
    hash = MapRef::Next(hash);
  }
  return kNowhere;
}

// Whether a row lives at this place, which may be any slot number.
inline __device__ bool IsRow(const MapRef& map, uint64_t place) {
  return place % kLineBytes != kBucketSlots && map.lines[place] != 0;
}

}  // namespace strata
