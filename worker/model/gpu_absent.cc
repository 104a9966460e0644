// What a build without CUDA says in place of a GPU.
#include "worker/model/gpu_training.h"
#include "worker/model/network.h"

namespace strata {
namespace {

Status NoCuda() {
  return NotFound(
      "this build has no CUDA: build with STRATA_CUDA=on (./dev build --cuda=on), or compute on "
      "the CPU with compute.device = \"cpu\"");
}

}  // namespace

Result<std::unique_ptr<Network>> MakeGpuNetwork(LayerGraph /*graph*/, int /*gpu*/,
                                                GemmPrecision /*precision*/, int /*threads*/) {
  return NoCuda();
}

Result<std::unique_ptr<GpuTraining>> GpuTraining::Make(LayerGraph /*graph*/, TableStore& /*store*/,
                                                       const GpuTrainingOptions& /*options*/) {
  return NoCuda();
}

}  // namespace strata
