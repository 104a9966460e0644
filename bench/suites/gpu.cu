#include "bench/suites/gpu.h"
#include "kernels/core/cuda_status.cuh"

namespace strata::bench {

Result<std::string> UseGpu(int ordinal) {
  STRATA_TRY(CheckDevice(ordinal));
  STRATA_TRY(FromCuda(cudaSetDevice(ordinal), "choosing the GPU"));
  cudaDeviceProp properties = {};
  STRATA_TRY(FromCuda(cudaGetDeviceProperties(&properties, ordinal), "asking for its name"));
  return fmt::format("gpu: {}", properties.name);
}

std::vector<Suite> GpuSuites(const DeviceChoice& choice) {
  return {GpuTableSuite(),  GpuEmbeddingSuite(),  GpuCtrSuite(),   GpuServiceSuite(choice.ordinal),
          GpuTieredSuite(), GpuTreeBlocksSuite(), GpuTreesSuite(), GpuSearchSuite()};
}

}  // namespace strata::bench
