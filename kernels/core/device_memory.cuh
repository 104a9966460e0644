// Memory of the current GPU, and of the host for copies, that is given back.
#pragma once

#include <algorithm>
#include <memory>
#include <span>

#include "kernels/core/cuda_status.cuh"

namespace strata {

template <typename T>
class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory() { (void)cudaFree(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Once; kRefused: there is not so much.
  Status Make(size_t count, const char* what) {
    STRATA_TRY(FromAllocation(cudaMalloc(&data_, std::max<size_t>(count, 1) * sizeof(T)), what));
    count_ = count;
    return {};
  }
  // From the value number `begin` on.
  // `values` stay as they are until the stream has come so far.
  Status Set(std::span<const T> values, cudaStream_t stream, size_t begin = 0) {
    return FromCuda(cudaMemcpyAsync(data_ + begin, values.data(), values.size() * sizeof(T),
                                    cudaMemcpyDefault, stream),
                    "copying to the GPU");
  }
  Status Get(std::span<T> values, cudaStream_t stream, size_t begin = 0) const {
    return FromCuda(cudaMemcpyAsync(values.data(), data_ + begin, values.size() * sizeof(T),
                                    cudaMemcpyDefault, stream),
                    "copying from the GPU");
  }
  T* data() const { return data_; }
  size_t size() const { return count_; }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

// The same for arrays of different lengths, one after another.
template <typename T>
class GrowingMemory {
 public:
  // Until the copy is there, the values are read.
  Status Put(std::span<const T> values, const char* what, cudaStream_t stream) {
    if (memory_ == nullptr || memory_->size() < values.size()) {
      memory_ = std::make_unique<DeviceMemory<T>>();
      STRATA_TRY(memory_->Make(values.size(), what));
    }
    return memory_->Set(values, stream);
  }
  T* data() const { return memory_->data(); }

 private:
  std::unique_ptr<DeviceMemory<T>> memory_;
};

// Memory of the host that GPUs copy from and to without the processor's help.
template <typename T>
class PinnedMemory {
 public:
  PinnedMemory() = default;
  ~PinnedMemory() {
    if (data_ != nullptr) (void)cudaFreeHost(data_);
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  // Once; kRefused: there is not so much.
  Status Make(size_t count, const char* what) {
    STRATA_TRY(FromAllocation(
        cudaHostAlloc(&data_, std::max<size_t>(count, 1) * sizeof(T), cudaHostAllocPortable),
        what));
    count_ = count;
    return {};
  }
  std::span<T> values() const { return {data_, count_}; }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

}  // namespace strata
