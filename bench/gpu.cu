#include "bench/gpu.h"
#include "kernels/core/cuda_status.cuh"

namespace strata::bench {

Result<std::string> UseGpu(int ordinal) {
  int devices = 0;
  STRATA_TRY(FromCuda(cudaGetDeviceCount(&devices), "counting GPUs"));
  if (ordinal >= devices) {
    return Failed(fmt::format("GPU {} is not there; this process sees {}", ordinal, devices));
  }
  STRATA_TRY(FromCuda(cudaSetDevice(ordinal), "choosing the GPU"));
  cudaDeviceProp properties = {};
  STRATA_TRY(FromCuda(cudaGetDeviceProperties(&properties, ordinal), "asking for its name"));
  return fmt::format("gpu: {}", properties.name);
}

std::vector<Suite> GpuSuites() { return {GpuTableSuite()}; }

}  // namespace strata::bench
