// The parts of a batch, one behind the other, by where they end.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>

namespace strata {

// Where in [begin, end) of an ascending array the first number stands that is `bound` or more; end:
// nowhere.
inline __device__ uint32_t FirstFrom(const uint32_t* ascending, uint32_t begin, uint32_t end,
                                     uint32_t bound) {
  while (begin < end) {
    const uint32_t middle = begin + (end - begin) / 2;
    if (ascending[middle] < bound) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

// The part of a position.
inline __device__ uint32_t PartOf(std::span<const uint32_t> ends, uint32_t position) {
  return FirstFrom(ends.data(), 0, static_cast<uint32_t>(ends.size()), position + 1);
}

// The run of a row: of `rows` ascending positions those of its part. Where it ends; without parts,
// or with one, all are one run.
inline __device__ uint32_t RunEnd(std::span<const uint32_t> ends, const uint32_t* order,
                                  uint32_t row, uint32_t rows) {
  if (ends.size() < 2) return rows;
  return FirstFrom(order, row + 1, rows, ends[PartOf(ends, order[row])]);
}

// How many parts have one of these `rows` ascending positions. From part to part, as a key may have
// most of a batch's positions.
inline __device__ uint32_t PartsThatBrought(std::span<const uint32_t> ends, const uint32_t* order,
                                            uint32_t rows) {
  uint32_t brought = 0;
  for (uint32_t row = 0; row < rows; ++brought) row = RunEnd(ends, order, row, rows);
  return brought;
}

}  // namespace strata
