// Columns of a matrix in a GPU's memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strata {

enum class GpuElement : uint8_t { kFp32, kBf16 };

constexpr size_t BytesOf(GpuElement type) { return type == GpuElement::kFp32 ? 4 : 2; }

// The row of sample i begins `stride` elements after that of sample i - 1.
struct GpuColumns {
  void* data = nullptr;
  size_t stride = 0;
  size_t width = 0;
  GpuElement type = GpuElement::kFp32;
  // Columns after these that belong to none: they are zeros, and zeros may be written to them.
  size_t padding = 0;

  GpuColumns From(size_t column, size_t columns) const {
    const bool is_last = column + columns == width;
    return {static_cast<std::byte*>(data) + column * BytesOf(type), stride, columns, type,
            is_last ? padding : 0};
  }
};

}  // namespace strata
