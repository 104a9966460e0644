#include <algorithm>

#include "kernels/core/cuda_status.cuh"
#include "storage/gpu/device_buffer.h"

namespace strata {

DeviceBuffer::~DeviceBuffer() { (void)cudaFree(data_); }

Status DeviceBuffer::Reserve(size_t bytes) {
  constexpr size_t kFirst = 4096;
  if (data_ != nullptr && bytes <= bytes_) return {};
  bytes = std::max({bytes, bytes_ + bytes_ / 2, kFirst});
  void* grown = nullptr;
  STRATA_TRY(FromAllocation(cudaMalloc(&grown, bytes), "memory of the GPU for a batch"));
  (void)cudaFree(data_);  // waits for what uses it
  data_ = grown;
  bytes_ = bytes;
  return {};
}

}  // namespace strata
