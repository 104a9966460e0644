// What kernels do with a MapRef beyond finding a key (strata/gpu/find_place.cuh): take a slot, copy
// a row.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "strata/gpu/find_place.cuh"
#include "strata/gpu/hash_map.h"
#include "strata/gpu/map_ref.h"

namespace strata {

inline __device__ uint32_t* LineWord(const MapRef& map, uint64_t place) {
  return reinterpret_cast<uint32_t*>(map.lines) + place / 4;
}
inline __device__ uint32_t WordShift(uint64_t place) {
  return static_cast<uint32_t>(place % 4) * 8;
}

// A free slot of the bucket, taken, or kNowhere.
inline __device__ uint64_t TakeFree(const MapRef& map, uint64_t bucket, uint32_t digest) {
  uint4 line = LoadLine(map, bucket);
  for (;;) {
    // The first word that has one: chosen without branches, so that a warp's lanes stay together.
    const uint32_t free[4] = {
        __vcmpeq4(line.x, 0) & 0x01010101U, __vcmpeq4(line.y, 0) & 0x01010101U,
        __vcmpeq4(line.z, 0) & 0x01010101U, __vcmpeq4(line.w, 0) & 0x00010101U};
    const uint32_t j = free[0] != 0 ? 0 : free[1] != 0 ? 1 : free[2] != 0 ? 2 : 3;
    const uint32_t of_word = j == 0 ? free[0] : j == 1 ? free[1] : j == 2 ? free[2] : free[3];
    if (of_word == 0) return kNowhere;
    const uint32_t seen = j == 0 ? line.x : j == 1 ? line.y : j == 2 ? line.z : line.w;
    const uint32_t shift = (__ffs(static_cast<int>(of_word)) - 1) / 8 * 8;
    const uint64_t place = bucket * kLineBytes + 4 * j + shift / 8;
    const uint32_t now = atomicCAS(LineWord(map, place), seen, seen | digest << shift);
    if (now == seen) return place;
    if (j == 0) line.x = now;
    if (j == 1) line.y = now;
    if (j == 2) line.z = now;
    if (j == 3) line.w = now;
  }
}

inline __device__ void SetMark(const MapRef& map, uint64_t bucket, uint32_t mark) {
  uint32_t* word = LineWord(map, bucket * kLineBytes + kBucketSlots);
  if ((*word >> 24 & mark) == 0) atomicOr(word, mark << 24);
}

// A slot for a key that is nowhere: the first free one on its way.
inline __device__ uint64_t TakePlace(const MapRef& map, uint64_t key) {
  uint64_t hash = map.First(key);
  const uint32_t digest = MapRef::DigestOf(hash);
  for (uint32_t taken = 0;;) {
    const uint64_t bucket = map.BucketOf(hash);
    uint64_t place = TakeFree(map, bucket, digest);
    if (place != kNowhere) return place;
    SetMark(map, bucket, kMarkOther);
    place = TakeFree(map, bucket ^ 1, digest);
    if (place != kNowhere || ++taken == map.pairs_taken) return place;
    SetMark(map, bucket, kMarkBeyond);
    hash = MapRef::Next(hash);
  }
}

// Slots that are looked at for a victim: reading the scores of all would cost as many memory
// transactions as they are. As many as Redis draws for the same purpose.
constexpr uint32_t kCandidates = 5;
static_assert(kBucketSlots % kCandidates == 0);

// Of every third slot of the bucket the one with the lowest score below `score`, its score raised
// to it, or kNowhere. *before: what it was. Whoever raises a score owns the slot.
inline __device__ uint64_t TakeLowest(const MapRef& map, uint64_t bucket, uint32_t third,
                                      uint64_t score, uint64_t* before) {
  constexpr uint32_t kStride = kBucketSlots / kCandidates;
  const uint64_t first = bucket * kLineBytes + third;
  for (;;) {
    uint64_t scores[kCandidates];
#pragma unroll
    for (uint32_t c = 0; c < kCandidates; ++c) {
      scores[c] = __ldcg(&map.HeaderOf(first + c * kStride)->score);
    }
    uint64_t lowest = score;
    uint32_t at = kCandidates;
#pragma unroll
    for (uint32_t c = 0; c < kCandidates; ++c) {
      if (scores[c] < lowest) {
        lowest = scores[c];
        at = c;
      }
    }
    if (at == kCandidates) return kNowhere;
    const uint64_t place = first + at * kStride;
    auto* where = reinterpret_cast<unsigned long long*>(&map.HeaderOf(place)->score);
    if (atomicCAS(where, lowest, score) == lowest) {
      *before = lowest;
      return place;
    }
  }
}

// The same over a third of the bucket that the hash draws, then over the others of the pair.
inline __device__ uint64_t TakeVictim(const MapRef& map, uint64_t hash, uint64_t score,
                                      uint64_t* before) {
  const uint64_t bucket = map.BucketOf(hash);
  const auto drawn = static_cast<uint32_t>(hash >> 34);
  for (uint32_t i = 0; i < 6; ++i) {
    const uint64_t place = TakeLowest(map, bucket ^ (i / 3), (drawn + i) % 3, score, before);
    if (place != kNowhere) return place;
  }
  return kNowhere;
}

inline __device__ uint64_t ThreadNumber() {
  return uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
inline __device__ uint32_t Lane() { return threadIdx.x % 32; }

// A warp's walk over rows of `units` units, one row a lane's: neighbouring lanes are at
// neighbouring units of a row, whoever's it is. Each step is at 32 units; `units` steps are all.
class Walk {
 public:
  explicit __device__ Walk(uint32_t units)
      : units_(units), rows_a_step_(32 / units), rest_(32 % units) {
    owner_ = Lane() / units;
    unit_ = Lane() % units;
  }
  __device__ uint32_t owner() const { return owner_; }  // the lane whose row it is
  __device__ uint32_t unit() const { return unit_; }
  __device__ void Next() {
    owner_ += rows_a_step_;
    unit_ += rest_;
    if (unit_ >= units_) {
      unit_ -= units_;
      ++owner_;
    }
  }

 private:
  const uint32_t units_;
  const uint32_t rows_a_step_;
  const uint32_t rest_;
  uint32_t owner_;
  uint32_t unit_;
};

constexpr uint32_t kStepsAtOnce = 4;  // of a walk: their loads overlap

// Each lane brings the row that it wants copied, null for none; the warp copies all of them, unit
// by unit through `convert`. All lanes take part.
template <typename From, typename To, typename Convert>
__device__ void CopyRows(const From* from, To* to, uint32_t units, const Convert& convert) {
  Walk walk(units);
  for (uint32_t step = 0; step < units; step += kStepsAtOnce) {
    From held[kStepsAtOnce];
    To* target[kStepsAtOnce];
    // Not a target of null: ptxas 13 may store there, as it compares what it has not written yet.
    bool is_copied[kStepsAtOnce];
#pragma unroll
    for (uint32_t j = 0; j < kStepsAtOnce; ++j) {
      const auto source = reinterpret_cast<const From*>(
          __shfl_sync(~0U, reinterpret_cast<uint64_t>(from), static_cast<int>(walk.owner() % 32)));
      target[j] = reinterpret_cast<To*>(
          __shfl_sync(~0U, reinterpret_cast<uint64_t>(to), static_cast<int>(walk.owner() % 32)));
      is_copied[j] = source != nullptr && step + j < units;
      if (is_copied[j]) {
        held[j] = source[walk.unit()];
        target[j] += walk.unit();
      }
      walk.Next();
    }
#pragma unroll
    for (uint32_t j = 0; j < kStepsAtOnce; ++j) {
      if (is_copied[j]) __stcs(target[j], convert(held[j]));
    }
  }
}
template <typename T>
__device__ void CopyRows(const T* from, T* to, uint32_t units) {
  CopyRows(from, to, units, [](const T& unit) { return unit; });
}
// The same with rows of `floats` floats, 16 bytes at a time where that is possible.
inline __device__ void CopyFloats(const float* from, float* to, uint32_t floats) {
  if (floats % 4 == 0) {
    CopyRows(reinterpret_cast<const float4*>(from), reinterpret_cast<float4*>(to), floats / 4);
  } else {
    CopyRows(from, to, floats);
  }
}

// The place of the lane's entry in a list of *count, which grows by the lanes that have one. All
// lanes of the warp take part, and count once.
inline __device__ uint32_t PlaceInList(bool has_one, uint32_t* count) {
  const uint32_t all = __ballot_sync(~0U, has_one);
  uint32_t first = 0;
  if (Lane() == 0 && all != 0) first = atomicAdd(count, static_cast<uint32_t>(__popc(all)));
  first = __shfl_sync(~0U, first, 0);
  return first + static_cast<uint32_t>(__popc(all & ((1U << Lane()) - 1)));
}
// *count grows by the lanes that say so, likewise.
inline __device__ void CountLanes(bool counts, unsigned long long* count) {
  const uint32_t all = __ballot_sync(~0U, counts);
  if (Lane() == 0 && all != 0) atomicAdd(count, static_cast<unsigned long long>(__popc(all)));
}

// Each lane brings the place of its row, kNowhere for none; the warp appends them to the list.
inline __device__ void AppendRow(const MapRef& map, uint64_t place, const RowList& out) {
  const bool is_one = place != kNowhere;
  if (__ballot_sync(~0U, is_one) == 0) return;
  const uint32_t at = PlaceInList(is_one, out.count);
  const uint32_t words = map.row_words;
  if (is_one) out.headers[at] = *map.HeaderOf(place);
  CopyFloats(is_one ? map.RowOf(place) : nullptr, out.rows + uint64_t{at} * words, words);
}

// The place, if a snapshot has still to take its row, which it has from here on; else kNowhere.
inline __device__ uint64_t TakePending(const MapRef& map, uint64_t place) {
  if (place == kNowhere) return kNowhere;
  const uint32_t bit = 1U << (place % 32);
  // Of several lanes with one place one clears the bit.
  return (atomicAnd(map.pending + place / 32, ~bit) & bit) != 0 ? place : kNowhere;
}

constexpr uint32_t kMapThreads = 256;
inline uint32_t BlocksFor(uint64_t threads) {
  return static_cast<uint32_t>((threads + kMapThreads - 1) / kMapThreads);
}

}  // namespace strata
