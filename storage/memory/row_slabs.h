// RowSlabs: rows of one width in slabs of memory. A row keeps its number, and its place, for life;
// numbers of erased rows are given out again.
//
//   slab: rows_per_slab x | key: 8 bytes | row: RowSchema::row_bytes() |
//
// The key lies beside its row because whoever needs one needs the other: one cache line brings
// both.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/status.h"
#include "storage/memory/memory_budget.h"
#include "storage/row_schema.h"

namespace strata {

constexpr uint64_t kNoRow = UINT64_MAX;

// Not thread-safe.
class RowSlabs {
 public:
  // `budget` may be null, and outlives the slabs.
  RowSlabs(RowSchema schema, MemoryBudget* budget);
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
    memcpy(&key, Place(row), sizeof key);
    return key;
  }
  float* Elements(uint64_t row) { return reinterpret_cast<float*>(Place(row) + sizeof(Key)); }
  const float* Elements(uint64_t row) const {
    return reinterpret_cast<const float*>(Place(row) + sizeof(Key));
  }
  RowCounters* Counters(uint64_t row) {
    return reinterpret_cast<RowCounters*>(Place(row) + sizeof(Key) + schema_.counters_offset());
  }
  const RowCounters* Counters(uint64_t row) const {
    return reinterpret_cast<const RowCounters*>(Place(row) + sizeof(Key) +
                                                schema_.counters_offset());
  }

  // Asks the processor for the key and the first `bytes` behind it; wide rows it then streams
  // itself. No loop, and always inlined: GCC 12 drops loops and calls that do nothing but prefetch.
  [[gnu::always_inline]] void Prefetch(uint64_t row, size_t bytes) const {
    constexpr uintptr_t kLine = 64;
    const std::byte* place = Place(row);
    const std::byte* last = place + sizeof(Key) + bytes - 1;
    const auto lines =
        reinterpret_cast<uintptr_t>(last) / kLine - reinterpret_cast<uintptr_t>(place) / kLine;
    __builtin_prefetch(place);
    if (lines >= 1) __builtin_prefetch(place + kLine);
    if (lines >= 2) __builtin_prefetch(place + 2 * kLine);
    if (lines >= 3) __builtin_prefetch(place + 3 * kLine);
  }

  bool IsLive(uint64_t row) const { return (live_[row / 64] >> (row % 64) & 1) != 0; }
  uint64_t numbers() const { return numbers_; }  // row numbers given out so far: 0 to numbers() - 1
  uint64_t rows() const { return rows_; }        // of these, the ones that live
  uint64_t bytes() const { return bytes_; }      // memory held
  const RowSchema& schema() const { return schema_; }

 private:
  std::byte* Place(uint64_t row) const {
    return slabs_[row >> slab_shift_].get() + (row & slab_mask_) * stride_;
  }
  Status AddSlab();

  const RowSchema schema_;
  const size_t stride_;
  const int slab_shift_;
  const uint64_t slab_mask_;
  const uint64_t slab_bytes_;  // the live bits' share included
  MemoryBudget* const budget_;
  std::vector<std::unique_ptr<std::byte[]>> slabs_;
  std::vector<uint64_t> live_;  // one bit a row
  uint64_t numbers_ = 0;
  uint64_t rows_ = 0;
  uint64_t free_ = kNoRow;  // the last erased row; its key field holds the one erased before it
  uint64_t bytes_ = 0;
};

}  // namespace strata
