// Exclusive sums in place, by CUB.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cub/device/device_scan.cuh>

#include "kernels/sparse/scratch.h"

namespace strata {

inline size_t SumScratchBytes(size_t count) {
  size_t bytes = 0;
  (void)cub::DeviceScan::ExclusiveSum(nullptr, bytes, static_cast<uint32_t*>(nullptr),
                                      static_cast<uint32_t*>(nullptr), static_cast<int>(count));
  return ScratchAligned(bytes);
}

// Each number becomes the sum of those before it, modulo 2^32. At most 2^31 - 1 of them.
inline void SumBefore(uint32_t* numbers, size_t count, Scratch* scratch, cudaStream_t stream) {
  size_t bytes = SumScratchBytes(count);
  (void)cub::DeviceScan::ExclusiveSum(scratch->Take<std::byte>(bytes), bytes, numbers, numbers,
                                      static_cast<int>(count), stream);
}

}  // namespace strata
