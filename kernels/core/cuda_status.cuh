// CUDA's errors (strata/gpu/cuda_status.cuh) that end the process, and the calling thread's device.
#pragma once

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <optional>

#include "kernels/core/gpu_fault.h"
#include "strata/gpu/cuda_status.cuh"
#include "strata/status.h"

namespace strata {

// After an error that has made the calling thread's GPU useless to this process: ends it.
[[noreturn]] inline void EndForGpuFault(const Status& status) {
  int gpu = 0;
  const bool is_known = cudaGetDevice(&gpu) == cudaSuccess;
  EndForGpuFault(is_known ? std::optional(gpu) : std::nullopt, status);
}

// Of a call for memory: kRefused when there is none. Any other error is an earlier one that has
// made the GPU useless to this process, which ends (70).
inline Status FromAllocation(cudaError_t error, const char* what) {
  const Status status = FromCuda(error, what);
  if (!status.ok() && error != cudaErrorMemoryAllocation) EndForGpuFault(status);
  (void)cudaGetLastError();  // it is told, and not to be found again by who asks next
  return status.ok() ? status : Refused(status.message());
}

// How many GPUs this process sees, one at least. kNotFound, saying why, when it sees none.
inline Result<int> CountGpus() {
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted == cudaErrorNoDevice || (counted == cudaSuccess && count == 0)) {
    return NotFound("this machine has no GPU, or none that CUDA sees (nvidia-smi lists them)");
  }
  if (counted == cudaErrorInsufficientDriver) {
    return NotFound(
        fmt::format("this machine has no NVIDIA driver, or one that is too old for this build: it "
                    "takes one for CUDA {}.{} or newer (nvidia-smi shows what there is)",
                    CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10));
  }
  STRATA_TRY(FromCuda(counted, "looking for GPUs"));
  return count;
}

// kNotFound, saying how many there are, when this process sees no GPU of that number.
inline Status CheckDevice(int device) {
  STRATA_ASSIGN(const int devices, CountGpus());
  if (device >= 0 && device < devices) return {};
  return NotFound(fmt::format("GPU {} is not there; this process sees {}", device, devices));
}

// The calling thread's current device is `device` while it lives.
class DeviceScope {
 public:
  explicit DeviceScope(int device) {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = device;
    changed_ = before_ != device && FromCuda(cudaSetDevice(device), "a GPU").ok();
  }
  ~DeviceScope() {
    if (changed_) (void)cudaSetDevice(before_);
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace strata
