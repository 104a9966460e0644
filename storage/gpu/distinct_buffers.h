// DistinctBuffers: the arrays that the distinct keys of a batch lie in (kernels/sparse/batch.h),
// used again from batch to batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/sparse/batch.h"
#include "storage/gpu/device_buffer.h"
#include "strata/status.h"

namespace strata {

// Of DistinctKeys, as they lie on the GPU.
struct DistinctCounts {
  uint32_t distinct;
  uint32_t missing;
  uint32_t often[2];
};

// Of the calling thread's GPU. Not thread-safe.
class DistinctBuffers {
 public:
  // Room for a batch of so many keys; what was there is lost when it grows. kRefused when the GPU
  // has no more memory.
  Status Reserve(size_t keys);
  // The arrays, which hold until the next Reserve, and their counts, which are the caller's.
  DistinctKeys With(DistinctCounts* counts) const;

 private:
  DeviceBuffer keys_;
  DeviceBuffer places_;
  DeviceBuffer order_;
  DeviceBuffer starts_;
  DeviceBuffer lasts_;
  DeviceBuffer often_;
  DeviceBuffer missing_;
};

}  // namespace strata
