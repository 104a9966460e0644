// MapRef: a hash map in a GPU's memory, as a kernel takes it by value.
// docs/gpu-internals.md draws it.
//
// A bucket has 15 slots. Its line of 16 bytes holds a digest of each slot's key (0: the slot is
// free) and, last, marks that say where else its keys may be. Two buckets are a pair, whose lines
// share one memory sector. A slot holds key, counters and row together, so that a key that is found
// has its row beside it, and a row is written as whole sectors:
//
//   lines    pair x bucket | digest x 15, marks |          16 bytes a bucket
//   slots    bucket x 15   | SlotHeader 32 | value | state | pad |
//
// Lines begin as zeros, slots as ones (kFreeScore).
//
// A key's hash, which has a secret seed, names a pair and which bucket of it is tried first. A
// bucket that is full sends the key to the other one of the pair, a full pair to the pair that the
// next hash names; each leaves a mark, and only where there is one a search goes on.
//
// The number of pairs grows one pair at a time (W. Litwin, "Linear hashing", VLDB 1980): pair p is
// split into p and p + pairs_base * 2^level, by one more bit of the hash.
#pragma once

#include <cstddef>
#include <cstdint>

#include "strata/element_type.h"
#include "strata/hash.h"
#include "strata/host_device.h"

namespace strata {

constexpr uint32_t kBucketSlots = 15;
constexpr uint32_t kLineBytes = 16;
constexpr uint32_t kPairSlots = 2 * kBucketSlots;
constexpr uint32_t kLevelMax = 24;  // bits of a hash below its digest
constexpr uint64_t kNowhere = ~uint64_t{0};
constexpr uint64_t kFreeScore = ~uint64_t{0};  // of a free slot: never the lowest

// What a row is besides value and state.
struct SlotHeader {
  uint64_t key;
  uint64_t last_step;
  uint64_t score;  // what eviction goes by
  uint32_t frequency;
  uint32_t checkpoint_epoch;
};
static_assert(sizeof(SlotHeader) == 32);

// Whether a row that was pushed last at `last_step`, 0 for never, is too old where rows pushed at
// `alive_from` or later are not: it has expired.
STRATA_HD constexpr bool HasExpired(uint64_t last_step, uint64_t alive_from) {
  return last_step != 0 && last_step < alive_from;
}

// Of a bucket's keys by their first choice some are ...
constexpr uint32_t kMarkOther = 1;   // in the other bucket of the pair, or beyond
constexpr uint32_t kMarkBeyond = 2;  // in another pair

// Counted by kernels, in device memory.
struct MapCounts {
  unsigned long long rows;      // that exist; atomicAdd's type of 64 bits
  unsigned long long refused;   // keys that found no place: all that they could take is full
  unsigned long long rejected;  // updates of a row that were not finite
};

struct MapRef {
  uint8_t* lines = nullptr;
  std::byte* slots = nullptr;
  // A word a pair, a bit a slot: rows that a snapshot has still to take. Zeros without one.
  uint32_t* pending = nullptr;
  MapCounts* counts = nullptr;
  uint64_t pairs_base = 0;  // at level 0
  uint64_t split = 0;       // pairs below are split at this level
  uint32_t level = 0;
  uint32_t slot_bytes = 0;
  uint32_t dim = 0;
  uint32_t state_width = 0;
  // How value and state are stored.
  ElementType value_type = ElementType::kFp32;
  StateTypes state_types = {};
  uint32_t state_offset = 0;  // in bytes
  uint32_t row_words = 0;     // of both, 4 bytes each
  uint32_t pairs_tried = 0;   // by a search, at most
  uint32_t pairs_taken = 0;   // by a key that is new before it gives up; no more than that
  uint64_t score_kept = 0;    // bits of a row's score that outlive a write to it
  uint64_t home_seed = 0;     // of the hash; secret

  constexpr uint64_t pairs() const { return (pairs_base << level) + split; }

  // Slots are numbered as their digests lie: 16 a bucket. Device memory.
  STRATA_HD std::byte* Slot(uint64_t place) const {
    return slots + (place - place / kLineBytes) * slot_bytes;
  }
  STRATA_HD SlotHeader* HeaderOf(uint64_t place) const {
    return reinterpret_cast<SlotHeader*>(Slot(place));
  }
  // Value and state as they are stored.
  STRATA_HD float* RowOf(uint64_t place) const {
    return reinterpret_cast<float*>(Slot(place) + sizeof(SlotHeader));
  }

  constexpr bool IsNarrow() const {
    return value_type != ElementType::kFp32 || state_types.IsNarrow();
  }

  // Where the key stands in the order by home, which a host's table with the same seed has, too.
  STRATA_HD uint64_t HomeOf(uint64_t key) const { return SeededMix(key, home_seed); }

  // What a hash says. The bits that name the pair at higher levels are the low ones, those of the
  // digest come next, then the bucket; the pair at level 0 is a matter of the high bits.
  // Without a seed all keys of a table may be of a few shards, which are the highest bits of Mix64:
  // they must not say which pairs are used. The product's low bits do not hang on them, and its
  // high bits hang on all the others.
  STRATA_HD uint64_t First(uint64_t key) const { return HomeOf(key) * 0x9e3779b97f4a7c15ULL; }
  STRATA_HD static uint64_t Next(uint64_t hash) { return Mix64(hash + 0x9e3779b97f4a7c15ULL); }
  STRATA_HD static uint32_t DigestOf(uint64_t hash) {
    const auto digest = static_cast<uint32_t>(hash >> kLevelMax) & 0xffU;
    return digest == 0 ? 1 : digest;
  }
  STRATA_HD static uint64_t High(uint64_t a, uint64_t b) {
#ifdef __CUDA_ARCH__
    return __umul64hi(a, b);
#else
    return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
#endif
  }
  STRATA_HD uint64_t PairAt(uint64_t hash, uint32_t at_level) const {
    return High(hash, pairs_base) + pairs_base * (hash & ((uint64_t{1} << at_level) - 1));
  }
  STRATA_HD uint64_t PairOf(uint64_t hash) const {
    const uint64_t pair = PairAt(hash, level);
    return pair < split ? PairAt(hash, level + 1) : pair;
  }
  // The bucket that is tried first; the other one of its pair is this ^ 1.
  STRATA_HD uint64_t BucketOf(uint64_t hash) const { return 2 * PairOf(hash) + (hash >> 32 & 1); }
};

// Bytes of a slot: whole sectors of 32 bytes, but for the smallest.
constexpr uint32_t SlotBytes(uint32_t row_words) {
  const uint32_t row_bytes = row_words * 4;
  return row_bytes <= 16 ? 48 : 32 + (row_bytes + 31) / 32 * 32;
}

}  // namespace strata
