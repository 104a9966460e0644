#include "kernels/setops/gpu_sets.h"

namespace strata {
namespace {

Status Absent() {
  return NotFound("this build has no CUDA: searches run on the CPU; build with --cuda=on");
}

}  // namespace

void GpuSets::ExpectSearchesAlone() {}

Status GpuSets::Prepare(int /*device*/) { return Absent(); }

Result<std::shared_ptr<GpuSearchRoom>> GpuSearchRoom::Make(int /*device*/) { return Absent(); }

Result<std::unique_ptr<GpuSets>> GpuSets::Open(std::shared_ptr<GpuSearchRoom> /*room*/,
                                               const BlockSource& /*documents*/, WorkPool& /*pool*/,
                                               GpuEngines /*engines*/) {
  return Absent();
}

Result<std::unique_ptr<GpuSets>> GpuSets::Open(int /*device*/, const BlockSource& /*documents*/,
                                               WorkPool& /*pool*/, GpuEngines /*engines*/) {
  return Absent();
}

}  // namespace strata
