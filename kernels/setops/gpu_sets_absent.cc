#include "kernels/setops/gpu_sets.h"

namespace strata {

Result<std::unique_ptr<GpuSets>> GpuSets::Open(int /*device*/, std::span<const SetBlock> /*of*/) {
  return NotFound("this build has no CUDA: searches run on the CPU; build with --cuda=on");
}

}  // namespace strata
