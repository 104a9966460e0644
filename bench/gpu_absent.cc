// Stands in for gpu.cu in a build without CUDA.
#include "bench/gpu.h"

namespace strata::bench {

Result<std::string> UseGpu(int /*ordinal*/) {
  return NotFound("built without CUDA; ./dev build --cuda=on");
}

std::vector<Suite> GpuSuites() { return {}; }

}  // namespace strata::bench
