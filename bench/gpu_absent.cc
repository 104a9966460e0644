// Stands in for gpu.cu in a build without CUDA.
#include "bench/gpu.h"

namespace strata::bench {

Result<std::string> UseGpu(int /*ordinal*/) {
  return NotFound(
      "this build has no CUDA: --device=cpu measures on the CPU; ./dev build --cuda=on makes one "
      "that has it");
}

std::vector<Suite> GpuSuites(const DeviceChoice& /*choice*/) { return {}; }

}  // namespace strata::bench
