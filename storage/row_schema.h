// RowSchema: how one row lies in memory, the same on GPU, host, disk and wire.
//
//   | value: dim x value_type | optimizer state: state_width x state_types | pad to 16 |
//   | counters: 16 bytes |
#pragma once

#include <cstddef>
#include <cstdint>

#include "strata/element_type.h"
#include "strata/row.h"

namespace strata {

// A row wherever it lies: its parts may follow each other or not.
struct RowView {
  const float* elements = nullptr;  // value and state as they are stored; null: no row
  const RowCounters* counters = nullptr;
};

struct RowSchema {
  uint32_t dim = 0;          // elements of the value, 1 to kDimMax
  uint32_t state_width = 0;  // elements of optimizer state
  ElementType value_type = ElementType::kFp32;
  StateTypes state_types = {};

  static constexpr uint32_t kDimMax = 1024;

  constexpr bool IsNarrow() const {
    return value_type != ElementType::kFp32 || state_types.IsNarrow();
  }
  // Of element n of a row, value then state.
  constexpr ElementType TypeOf(size_t n) const {
    return n < dim ? value_type : state_types.Of(n - dim, dim);
  }
  constexpr size_t state_bytes() const { return state_width * state_types.element_bytes(); }
  constexpr size_t state_offset() const {
    const size_t align = state_types.element_bytes();
    return (dim * BytesOf(value_type) + align - 1) / align * align;
  }
  // Of value and state as they are stored, in words of 4 bytes: what moves between tiers.
  constexpr uint32_t stored_words() const {
    return static_cast<uint32_t>((state_offset() + state_bytes() + 3) / 4);
  }
  constexpr size_t counters_offset() const {
    return (state_offset() + state_bytes() + 15) / 16 * 16;
  }
  constexpr size_t row_bytes() const { return counters_offset() + sizeof(RowCounters); }
};

}  // namespace strata
