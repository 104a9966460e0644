// Memory of the current GPU for benches.
#pragma once

#include <span>
#include <vector>

#include "kernels/core/cuda_status.cuh"

namespace strata::bench {

// That of the calling thread: where buffers are made and kernels run.
inline Result<int> CurrentGpu() {
  int device = 0;
  STRATA_TRY(FromCuda(cudaGetDevice(&device), "asking for the GPU"));
  return device;
}

template <typename T>
class GpuBuffer {
 public:
  GpuBuffer() = default;
  ~GpuBuffer() { (void)cudaFree(data_); }
  GpuBuffer(const GpuBuffer&) = delete;
  GpuBuffer& operator=(const GpuBuffer&) = delete;

  // Once. Zeros.
  Status Make(size_t count) {
    count_ = count;
    STRATA_TRY(FromCuda(cudaMalloc(&data_, count * sizeof(T)), "memory of the GPU"));
    return FromCuda(cudaMemset(data_, 0, count * sizeof(T)), "clearing");
  }
  Status Set(const std::vector<T>& values) {
    return FromCuda(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyDefault),
                    "copying to the GPU");
  }
  Status Get(std::vector<T>* values) const {
    return FromCuda(
        cudaMemcpy(values->data(), data_, values->size() * sizeof(T), cudaMemcpyDefault),
        "copying from the GPU");
  }
  T* data() const { return data_; }
  size_t size() const { return count_; }
  std::span<const T> span() const { return {data_, count_}; }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

}  // namespace strata::bench
