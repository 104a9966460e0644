// The parts of a batch, one behind the other, by where they end.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>

namespace strata {

// The part of a position.
inline __device__ uint32_t PartOf(std::span<const uint32_t> ends, uint32_t position) {
  uint32_t part = 0;
  for (auto end = static_cast<uint32_t>(ends.size()); part < end;) {
    const uint32_t middle = (part + end) / 2;
    if (ends[middle] <= position) {
      part = middle + 1;
    } else {
      end = middle;
    }
  }
  return part;
}

// How many parts have one of these `rows` ascending positions.
inline __device__ uint32_t PartsThatBrought(std::span<const uint32_t> ends, const uint32_t* order,
                                            uint32_t rows) {
  uint32_t brought = 1;
  if (ends.size() < 2) return brought;
  uint32_t last = PartOf(ends, order[0]);
  for (uint32_t row = 1; row < rows; ++row) {
    const uint32_t part = PartOf(ends, order[row]);
    if (part != last) ++brought;
    last = part;
  }
  return brought;
}

}  // namespace strata
