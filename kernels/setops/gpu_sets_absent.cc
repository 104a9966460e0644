#include "kernels/setops/gpu_sets.h"

namespace strata {
namespace {

Status Absent() {
  return NotFound("this build has no CUDA: searches run on the CPU; build with --cuda=on");
}

}  // namespace

Status GpuSets::Prepare(int /*device*/) { return Absent(); }

Result<std::unique_ptr<GpuSets>> GpuSets::Open(int /*device*/, const BlockSource& /*documents*/,
                                               WorkPool& /*pool*/) {
  return Absent();
}

}  // namespace strata
