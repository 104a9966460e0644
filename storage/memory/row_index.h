// RowIndex: from key to row number. Open addressing with linear probing over words of 8 bytes:
//
//   | fingerprint of the key: 16 bits | row number + 1: 48 bits |      0: empty
//
// The key itself lies beside the row (RowSlabs); a fingerprint that fits is checked there, in the
// cache line that is wanted anyway. Of h = Mix64(key) the home of a key takes the lowest bits and
// the fingerprint bits 38 to 53: wire::ShardOf takes the highest ten, the same for all keys of a
// shard.
//
// Growth. When the words are three quarters full, an array of twice the size is put beside the old
// one, and each insertion afterwards carries a few words over (the sweep). Each key is findable in
// exactly one place:
//   - The sweep starts behind an empty word of the old array and always stops behind one, so it
//   never
//     cuts a run of neighbours, and a key whose home it has passed has been carried over.
//   - New keys go to the new array alone, so the empty words that bound the sweep stay empty.
//   - An erased word is filled by shifting its run back: no tombstones, ever.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "base/hash.h"
#include "base/status.h"
#include "storage/memory/memory_budget.h"
#include "storage/memory/row_slabs.h"

namespace strata {

// Not thread-safe.
class RowIndex {
 public:
  // `rows` holds the keys; both outlive the index. `budget` may be null.
  RowIndex(const RowSlabs& rows, MemoryBudget* budget);
  ~RowIndex();
  RowIndex(const RowIndex&) = delete;
  RowIndex& operator=(const RowIndex&) = delete;

  // The row of `key`, or kNoRow.
  uint64_t Find(Key key) const;

  // Makes sure that the next `count` calls of Insert succeed. kRefused as RowSlabs::Reserve.
  Status Reserve(uint64_t count);

  // `key` is not in the index, is in the slabs as `row`, and Reserve made room for it.
  void Insert(Key key, uint64_t row);

  // `key` is in the index and still in the slabs.
  void Erase(Key key);

  // Calls visit(i, row or kNoRow) for each key in order, reading memory ahead: the index 32 keys
  // before its use, the row and `row_bytes` of it 16 keys before. visit does not change the index.
  template <typename Visit>
  void VisitRows(std::span<const Key> keys, size_t row_bytes, Visit&& visit) const;

  uint64_t bytes() const { return (current_.size() + old_.size()) * sizeof(uint64_t); }
  // Words carried over or passed by sweeps so far: what growth has cost.
  uint64_t words_swept() const { return words_swept_; }

 private:
  struct Free {
    void operator()(uint64_t* words) const { std::free(words); }
  };
  struct Words {
    std::unique_ptr<uint64_t[], Free> data;
    uint64_t mask = 0;  // size - 1; the size is a power of two, or there is no data

    uint64_t size() const { return data ? mask + 1 : 0; }
  };

  static constexpr int kRowBits = 48;
  static constexpr uint64_t kRowMask = (uint64_t{1} << kRowBits) - 1;

  static uint64_t FingerprintOf(uint64_t hash) { return hash >> 38 << kRowBits; }
  static uint64_t RowOf(uint64_t word) { return (word & kRowMask) - 1; }

  // The home's array holds `hash`, unless the key is new since the sweep began.
  const Words& HomeWords(uint64_t hash) const {
    return old_.data && ((hash - sweep_start_) & old_.mask) >= swept_ ? old_ : current_;
  }
  // First row in the home's run with the fingerprint: most likely the key's. Reads no row.
  uint64_t Candidate(uint64_t hash) const;
  uint64_t FindIn(const Words& words, Key key,
                  uint64_t hash) const;  // place of the word, or kNoRow
  void InsertIn(Words& words, uint64_t hash, uint64_t row);
  void EraseIn(Words& words, uint64_t place);
  Status Grow(uint64_t count_min);
  void Sweep(uint64_t words_min);

  const RowSlabs& rows_;
  MemoryBudget* const budget_;
  Words current_;
  Words old_;  // while growing
  uint64_t sweep_start_ = 0;
  uint64_t swept_ = 0;      // words of old_ passed, counted from sweep_start_
  uint64_t sweep_due_ = 0;  // words that insertions owe to the sweep
  uint64_t count_ = 0;      // keys in both arrays, each once
  uint64_t words_swept_ = 0;
};

template <typename Visit>
void RowIndex::VisitRows(std::span<const Key> keys, size_t row_bytes, Visit&& visit) const {
  constexpr size_t kIndexAhead = 32, kRowAhead = 16;
  std::array<uint64_t, kIndexAhead> hashes;
  std::array<uint64_t, kRowAhead> candidates;
  const size_t n = keys.size();
  for (size_t i = 0; i < n + kIndexAhead; ++i) {
    if (i >= kIndexAhead) {
      const size_t at = i - kIndexAhead;
      uint64_t row = candidates[at % kRowAhead];
      // Without a candidate in the home's array the key is missing, unless it is younger than the
      // sweep; a candidate with another key is a fingerprint that two keys share.
      if (row == kNoRow ? old_.data != nullptr : rows_.KeyOf(row) != keys[at]) row = Find(keys[at]);
      visit(at, row);
    }
    if (i >= kRowAhead && i - kRowAhead < n) {
      const size_t at = i - kRowAhead;
      const uint64_t row = Candidate(hashes[at % kIndexAhead]);
      if (row != kNoRow) rows_.Prefetch(row, row_bytes);
      candidates[at % kRowAhead] = row;
    }
    if (i < n) {
      const uint64_t hash = Mix64(keys[i]);
      const Words& words = HomeWords(hash);
      __builtin_prefetch(words.data.get() + (hash & words.mask));
      hashes[i % kIndexAhead] = hash;
    }
  }
}

}  // namespace strata
