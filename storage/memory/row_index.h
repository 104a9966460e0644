// RowIndex: from key to row number. Open addressing over buckets of one cache line each:
//
//   | hash: 5 x 8 bytes | row number: 5 x 4 bytes | slots in use: 4 bytes |
//
// The hash is a bijection of the key (SeededHash), so a hash that fits is the key: a lookup touches
// one line of the index and then the row's own, nothing else. A key's home is the bucket in
// proportion to its hash, whose seed is secret: no choice of keys crowds a few homes. A key whose
// home is full lies in the next bucket with a free slot, so every bucket between a key's home and
// its place is full.
//
// Growth. When four fifths of the slots are used, an array a quarter larger is put beside the old
// one, and each insertion afterwards empties four buckets of the old one in order (the sweep).
// Homes keep their order from array to array, so both are read and written from front to back, and
// the new one's memory is touched little by little. Each key is findable in exactly one place:
//   - The sweep starts behind a bucket that is not full and always stops behind one, so it never
//     cuts a run of full buckets, and a key whose home it has passed has been carried over.
//   - A new key goes to the old array while the sweep has not passed its home, unless it would have
//     to lie where the sweep has passed; then, and else, to the new one.
//   - An erased slot is filled from the buckets behind it: no tombstones, ever.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/seeded_hash.h"
#include "base/thread/work_pool.h"
#include "storage/memory/memory_budget.h"
#include "storage/memory/pages.h"
#include "storage/memory/row_slabs.h"
#include "strata/status.h"

namespace strata {

// Not thread-safe. At most 2^32 - 1 rows.
class RowIndex {
 public:
  // `rows` is what row numbers are of, and its hash is the index's too; both outlive the index.
  // `budget` may be null.
  RowIndex(const RowSlabs& rows, MemoryBudget* budget);
  ~RowIndex();
  RowIndex(const RowIndex&) = delete;
  RowIndex& operator=(const RowIndex&) = delete;

  // The row of `key`, or kNoRow.
  uint64_t Find(Key key) const { return FindHash(hash_(key)); }

  // Makes sure that the next `count` calls of Insert succeed. kRefused as RowSlabs::Reserve, and
  // when there would be too many rows.
  Status Reserve(uint64_t count);

  // `key` is not in the index, and Reserve made room for it.
  void Insert(Key key, uint64_t row);

  // `key` is in the index.
  void Erase(Key key);

  // Calls visit(i, row or kNoRow) for each key in order, reading memory ahead: the index 32 keys
  // before its use, the row and `row_bytes` of it 16 keys before. visit does not change the index.
  // Sparing: for threads that share the memory's bandwidth. It reads no more than most keys need,
  // and no further than into the second cache (sixteen threads that gather rows of 256 bytes: 160
  // to 220 M rows a second, and 105 to 140 M into the first), but twice as far ahead.
  template <bool Sparing = false, typename Visit>
  void VisitRows(std::span<const Key> keys, size_t row_bytes, Visit&& visit) const;
  // The same, and fetch(row) is what reads ahead of a row: nothing but prefetches, always inlined.
  template <bool Sparing, typename Fetch, typename Visit>
  void VisitFetched(std::span<const Key> keys, const Fetch& fetch, Visit&& visit) const;

  // The rows of these keys to *rows, kNoRow for those without, and found(row) of each other one;
  // threads of the pool take part. How many are without.
  template <typename Found>
  uint64_t FindRows(std::span<const Key> keys, WorkPool& pool, std::vector<uint64_t>* rows,
                    const Found& found) const;

  uint64_t bytes() const { return (current_.count + old_.count) * sizeof(Bucket); }
  // Slots carried over or passed by sweeps so far: what growth has cost.
  uint64_t words_swept() const { return buckets_swept_ * kSlots; }
  // Buckets that a search for `key` reads; tests bound them.
  uint64_t BucketsRead(Key key) const;

 private:
  static constexpr uint32_t kSlots = 5;
  struct alignas(64) Bucket {
    std::array<uint64_t, kSlots> hashes;
    std::array<uint32_t, kSlots> rows;
    uint32_t used;  // slots, from the first on

    bool full() const { return used == kSlots; }
    // A bit for each slot in use with this hash: one at most. Written out: GCC 12 keeps the loop.
    uint32_t Matches(uint64_t hash) const {
      static_assert(kSlots == 5);
      const auto bit = [&](uint32_t slot) {
        return static_cast<uint32_t>(hashes[slot] == hash) << slot;
      };
      return (bit(0) | bit(1) | bit(2) | bit(3) | bit(4)) & ((1U << used) - 1);
    }
    void Add(uint64_t hash, uint32_t row) {
      hashes[used] = hash;
      rows[used] = row;
      ++used;
    }
    void Remove(uint32_t slot) {
      --used;
      hashes[slot] = hashes[used];
      rows[slot] = rows[used];
    }
  };
  static_assert(sizeof(Bucket) == 64);

  struct Buckets {
    Pages pages;
    uint64_t count = 0;

    // More would make runs of full buckets long.
    uint64_t keys_max() const { return count * kSlots / 5 * 4; }
    Bucket* data() const { return reinterpret_cast<Bucket*>(pages.data()); }
    uint64_t Home(uint64_t hash) const {
      return static_cast<uint64_t>(static_cast<unsigned __int128>(hash) * count >> 64);
    }
    uint64_t Next(uint64_t at) const { return at + 1 == count ? 0 : at + 1; }
    // Steps forward from one bucket to another.
    uint64_t Distance(uint64_t from, uint64_t to) const {
      return to >= from ? to - from : to + count - from;
    }
  };
  struct Place {
    Bucket* bucket = nullptr;  // null: nowhere
    uint64_t at = 0;           // its number
    uint32_t slot = 0;
  };

  // Whether the sweep has passed this bucket of old_.
  bool Swept(uint64_t at) const { return old_.Distance(sweep_start_, at) < swept_; }
  // The array in which a key is looked for first.
  const Buckets& HomeBuckets(uint64_t hash) const {
    return old_.count != 0 && !Swept(old_.Home(hash)) ? old_ : current_;
  }
  static Place FindIn(const Buckets& in, uint64_t hash);
  uint64_t FindHash(uint64_t hash) const;
  static void InsertIn(Buckets& into, uint64_t hash, uint32_t row);
  // False when the key has no place in old_ that the sweep has not passed.
  bool InsertUnswept(uint64_t hash, uint32_t row);
  static void EraseIn(Buckets& in, const Place& place);
  Status Grow(uint64_t count_min);
  void Sweep(uint64_t buckets_min);

  const RowSlabs& rows_;
  const SeededHash hash_;
  MemoryBudget* const budget_;
  Buckets current_;
  Buckets old_;  // while growing
  uint64_t sweep_start_ = 0;
  uint64_t swept_ = 0;      // buckets of old_ passed, counted from sweep_start_
  uint64_t sweep_due_ = 0;  // buckets that insertions owe to the sweep
  uint64_t count_ = 0;      // keys in both arrays, each once
  uint64_t buckets_swept_ = 0;
};

inline RowIndex::Place RowIndex::FindIn(const Buckets& in, uint64_t hash) {
  if (in.count == 0) return {};
  for (uint64_t at = in.Home(hash);; at = in.Next(at)) {
    Bucket& bucket = in.data()[at];
    if (const uint32_t matches = bucket.Matches(hash); matches != 0) {
      return {&bucket, at, static_cast<uint32_t>(std::countr_zero(matches))};
    }
    if (!bucket.full()) return {};
  }
}

inline uint64_t RowIndex::FindHash(uint64_t hash) const {
  const Buckets& home = HomeBuckets(hash);
  Place place = FindIn(home, hash);
  if (place.bucket == nullptr && &home != &current_) place = FindIn(current_, hash);
  return place.bucket == nullptr ? kNoRow : place.bucket->rows[place.slot];
}

template <bool Sparing, typename Visit>
void RowIndex::VisitRows(std::span<const Key> keys, size_t row_bytes, Visit&& visit) const {
  const auto fetch = [ this, row_bytes ](uint64_t row) __attribute__((always_inline)) {
    rows_.Prefetch<!Sparing>(row, row_bytes);
  };
  VisitFetched<Sparing>(keys, fetch, visit);
}

template <bool Sparing, typename Fetch, typename Visit>
void RowIndex::VisitFetched(std::span<const Key> keys, const Fetch& fetch, Visit&& visit) const {
  constexpr size_t kIndexAhead = Sparing ? 64 : 32, kRowAhead = kIndexAhead / 2;
  std::array<uint64_t, kIndexAhead> hashes;
  std::array<uint64_t, kRowAhead> rows;
  const size_t n = keys.size();
  for (size_t i = 0; i < n + kIndexAhead; ++i) {
    if (i >= kIndexAhead) visit(i - kIndexAhead, rows[i % kRowAhead]);
    if (i >= kRowAhead && i - kRowAhead < n) {
      const uint64_t row = FindHash(hashes[(i - kRowAhead) % kIndexAhead]);
      if (row != kNoRow) fetch(row);
      rows[i % kRowAhead] = row;
    }
    if (i < n) {
      const uint64_t hash = hash_(keys[i]);
      const Buckets& home = HomeBuckets(hash);
      if (home.count != 0) {
        const Bucket* bucket = home.data() + home.Home(hash);
        __builtin_prefetch(bucket, 0, Sparing ? 2 : 3);
        if (!Sparing) __builtin_prefetch(bucket + 1);  // where a tenth lie when it is full
      }
      hashes[i % kIndexAhead] = hash;
    }
  }
}

template <typename Found>
uint64_t RowIndex::FindRows(std::span<const Key> keys, WorkPool& pool, std::vector<uint64_t>* rows,
                            const Found& found) const {
  rows->resize(keys.size());
  std::atomic<uint64_t> missing = 0;
  pool.RunPieces(keys.size(), kRowPiece, [&](size_t begin, size_t end) {
    uint64_t of_piece = 0;
    VisitRows<true>(keys.subspan(begin, end - begin), 0, [&](size_t i, uint64_t row) {
      (*rows)[begin + i] = row;
      if (row == kNoRow) {
        ++of_piece;
      } else {
        found(row);
      }
    });
    missing += of_piece;
  });
  return missing;
}

}  // namespace strata
