#include <algorithm>

#include "kernels/core/cuda_status.cuh"
#include "storage/gpu/device_buffer.h"

namespace strata {

DeviceBuffer::~DeviceBuffer() { (void)cudaFree(data_); }

namespace {

Status Take(size_t bytes, void** memory) {
  return FromAllocation(cudaMalloc(memory, bytes), "memory of the GPU for a batch");
}

}  // namespace

Status DeviceBuffer::Reserve(size_t bytes) {
  constexpr size_t kFirst = 4096;
  if (data_ != nullptr && bytes <= bytes_) return {};
  size_t taken = std::max({bytes, bytes_ + bytes_ / 2, kFirst});
  void* grown = nullptr;
  Status status = Take(taken, &grown);
  if (!status.ok() && taken > bytes) {  // without room to grow, then
    taken = bytes;
    status = Take(taken, &grown);
  }
  STRATA_TRY(status);
  (void)cudaFree(data_);  // waits for what uses it
  data_ = grown;
  bytes_ = taken;
  return {};
}

}  // namespace strata
