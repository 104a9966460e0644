// Of a build without CUDA.
#include "worker/model/network.h"

namespace strata {

Result<std::unique_ptr<Network>> MakeGpuNetwork(LayerGraph /*graph*/, int /*gpu*/,
                                                GemmPrecision /*precision*/) {
  return Refused("this build has no CUDA: build with STRATA_CUDA=on (./dev build --cuda=on)");
}

}  // namespace strata
