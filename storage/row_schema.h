// RowSchema: how one row lies in memory, the same on GPU, host, disk and wire.
//
//   | value: dim x f32 | optimizer state: state_width x f32 | counters: 16 bytes | pad to 16 |
#pragma once

#include <cstddef>
#include <cstdint>

namespace strata {

using Key = uint64_t;  // all 2^64 values are usable

// The part of a row that is neither value nor optimizer state. Zero in a row that was just made.
struct RowCounters {
  uint32_t frequency = 0;         // pushes that touched the row; stops at 2^32 - 1
  uint32_t checkpoint_epoch = 0;  // the last checkpoint epoch that holds the row
  uint64_t last_step = 0;         // optimizer time of the last push; lazy Adam goes by it
};
static_assert(sizeof(RowCounters) == 16);

// A row wherever it lies: its parts may follow each other or not.
struct RowView {
  const float* elements = nullptr;  // value and state; null: no row
  const RowCounters* counters = nullptr;
};

struct RowSchema {
  uint32_t dim = 0;          // elements of the value, 1 to kDimMax
  uint32_t state_width = 0;  // elements of optimizer state

  static constexpr uint32_t kDimMax = 1024;

  constexpr size_t state_offset() const { return size_t{dim} * 4; }
  constexpr size_t counters_offset() const {
    return (size_t{dim} + state_width + 3) / 4 * 4 * 4;  // 16-byte boundary
  }
  constexpr size_t row_bytes() const { return counters_offset() + sizeof(RowCounters); }
};

}  // namespace strata
