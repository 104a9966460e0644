// RowSlabs: rows of one width in slabs of memory. A row keeps its number, and its place, for life;
// numbers of erased rows are given out again.
//
//   slab: rows_per_slab x | value and optimizer state, padded to 16 bytes |
//         rows_per_slab x | counters: 16 bytes |
//         rows_per_slab x | key: 8 bytes |
//
// Rows of narrow types are read and written through storage/row_elements.h alone.
//
// Rows may lie as they come, or (RowOrder::kByHome) the keys of each part of the hashes, a region,
// in slabs of its own: who reads many rows in that order stays within few pages at a time. There
// are more regions as there are more slabs, and rows stay where they are. A region without room
// takes from another; when such a row is erased, its key's region has the place. Where a row lies
// is a matter of speed alone.
//
// What a pull reads lies alone and begins at a cache line where the width allows it: keys are
// compared in the index, counters matter to pushes and checkpoints.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/seeded_hash.h"
#include "base/thread/work_pool.h"
#include "storage/memory/memory_budget.h"
#include "storage/memory/pages.h"
#include "storage/row_schema.h"
#include "strata/status.h"

namespace strata {

enum class RowOrder : uint8_t { kAsTheyCome, kByHome };

constexpr uint64_t kNoRow = UINT64_MAX;
// All are below: the index holds them as 32 bits.
constexpr uint64_t kRowNumbersMax = UINT32_MAX;
constexpr size_t kRowPiece =
    128;  // rows that a thread of a pool reads or writes at a time, at most
// As many that all threads have something to do.
constexpr size_t RowPieceOf(size_t rows) { return std::clamp<size_t>(rows / 64, 32, kRowPiece); }

// Not thread-safe.
class RowSlabs {
 public:
  // `budget` may be null, and outlives the slabs.
  RowSlabs(RowSchema schema, MemoryBudget* budget, RowOrder order = RowOrder::kAsTheyCome,
           SeededHash hash = {});
  ~RowSlabs();
  RowSlabs(const RowSlabs&) = delete;
  RowSlabs& operator=(const RowSlabs&) = delete;

  // Makes sure that the next `count` calls of Add succeed. kRefused when the budget or the machine
  // has no memory left for them; nothing has changed then but unused slabs.
  Status Reserve(uint64_t count);

  // The number of a row that Reserve made room for. Its bytes are as they were; the caller fills
  // them.
  uint64_t Add(Key key);
  void Remove(uint64_t row);

  Key KeyOf(uint64_t row) const {
    Key key;
    memcpy(&key, KeyPlace(row), sizeof key);
    return key;
  }
  float* Elements(uint64_t row) { return reinterpret_cast<float*>(Place(row)); }
  const float* Elements(uint64_t row) const { return reinterpret_cast<const float*>(Place(row)); }
  RowCounters* Counters(uint64_t row) { return reinterpret_cast<RowCounters*>(CountersPlace(row)); }
  const RowCounters* Counters(uint64_t row) const {
    return reinterpret_cast<const RowCounters*>(CountersPlace(row));
  }

  // Asks the processor for the first `bytes` of the row's elements. Wide rows it then streams
  // itself. No loop, and always inlined: GCC 12 drops loops and calls that do nothing but prefetch.
  // Near: into the first cache; else into the second one, of which a core fills more lines at a
  // time.
  template <bool Near = true>
  [[gnu::always_inline]] void Prefetch(uint64_t row, size_t bytes) const {
    constexpr int kLocality = Near ? 3 : 2;
    constexpr uintptr_t kLine = 64;
    const std::byte* place = Place(row);
    const std::byte* last = place + std::min(std::max<size_t>(bytes, 1), elements_bytes_) - 1;
    const auto lines =
        reinterpret_cast<uintptr_t>(last) / kLine - reinterpret_cast<uintptr_t>(place) / kLine;
    __builtin_prefetch(place, 0, kLocality);
    if (lines >= 1) __builtin_prefetch(place + kLine, 0, kLocality);
    if (lines >= 2) __builtin_prefetch(place + 2 * kLine, 0, kLocality);
    if (lines >= 3) __builtin_prefetch(place + 3 * kLine, 0, kLocality);
  }
  [[gnu::always_inline]] void PrefetchCounters(uint64_t row) const {  // to write to them
    __builtin_prefetch(CountersPlace(row), 1);
  }
  [[gnu::always_inline]] void PrefetchToWrite(uint64_t row) const {  // counters, elements
    PrefetchCounters(row);
    __builtin_prefetch(Place(row), 1);
  }
  [[gnu::always_inline]] void PrefetchCountersToRead(uint64_t row) const {
    __builtin_prefetch(CountersPlace(row), 0, 2);
  }

  // The whole of these rows, which are all different, one behind the other as they are stored;
  // threads of the pool take part.
  void Write(std::span<const uint64_t> rows, std::span<const float> stored,
             std::span<const RowCounters> counters, WorkPool& pool);

  // What lies side by side in a slab: rows up to SlabEnd(row) - 1, with their counters and their
  // keys, and as floats without gaps between them if ElementsAreDense.
  uint64_t SlabEnd(uint64_t row) const { return (row | slab_mask_) + 1; }
  bool ElementsAreDense() const {
    return !schema_.IsNarrow() &&
           elements_bytes_ == (size_t{schema_.dim} + schema_.state_width) * sizeof(float);
  }
  // The keys of `row` and of those behind it in its slab.
  void CopyKeys(uint64_t row, std::span<Key> out) const {
    memcpy(out.data(), KeyPlace(row), out.size_bytes());
  }

  bool IsLive(uint64_t row) const { return (live_[row / 64] >> (row % 64) & 1) != 0; }
  uint64_t numbers() const { return numbers_; }        // all given out so far are below
  uint64_t rows() const { return rows_; }              // of these, the ones that live
  uint64_t slab_bytes() const { return slab_bytes_; }  // what it grows by
  uint64_t bytes() const { return bytes_; }            // memory held
  const RowSchema& schema() const { return schema_; }
  SeededHash hash() const { return hash_; }  // of keys: what the order by home goes by

 private:
  std::byte* Place(uint64_t row) const {
    return slabs_[row >> slab_shift_] + (row & slab_mask_) * elements_bytes_;
  }
  std::byte* CountersPlace(uint64_t row) const {
    return slabs_[row >> slab_shift_] + counters_at_ + (row & slab_mask_) * sizeof(RowCounters);
  }
  std::byte* KeyPlace(uint64_t row) const {
    return slabs_[row >> slab_shift_] + keys_at_ + (row & slab_mask_) * sizeof(Key);
  }
  // Rows of a part of the hashes that nobody has: `next` to `end` - 1, of the slab begun last, and
  // a list through their key fields.
  struct Region {
    uint64_t next = 0;
    uint64_t end = 0;
    uint64_t free = kNoRow;

    bool HasRoom() const { return free != kNoRow || next != end; }
  };

  Status AddSlab();
  Region& RegionOf(Key key);
  void BeginSlab(Region& region);
  // One with room for the key: its own, if that can be.
  Region& RegionWithRoom(Key key);
  void SplitRegions();

  const RowSchema schema_;
  const RowOrder order_;
  const SeededHash hash_;
  const size_t elements_bytes_;  // of a row
  const int slab_shift_;
  const uint64_t slab_mask_;
  const size_t counters_at_;    // in a slab
  const size_t keys_at_;        // in a slab
  const uint64_t slab_memory_;  // bytes from one slab to the next in a block
  const uint64_t slab_bytes_;   // the live bits' share included
  MemoryBudget* const budget_;
  std::vector<Pages> blocks_;       // each holds one slab, or many once the table is large
  std::byte* next_slab_ = nullptr;  // in the last block
  uint64_t slabs_left_ = 0;         // in the last block
  std::vector<std::byte*> slabs_;
  std::vector<uint64_t> live_;      // one bit a row
  std::vector<Region> regions_{1};  // a power of two
  uint64_t lender_ = 0;             // the region that was asked last to lend room
  uint64_t slabs_begun_ = 0;        // by a region
  uint64_t numbers_ = 0;
  uint64_t rows_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace strata
