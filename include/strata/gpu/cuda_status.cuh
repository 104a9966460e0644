// CUDA's errors as a Status.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "strata/status.h"

namespace strata {

// kFailed says `what` was done and what CUDA says. It forgets the error, which CUDA would report
// again otherwise.
inline Status FromCuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return {};
  (void)cudaGetLastError();
  return Failed(std::string(what) + ": CUDA: " + cudaGetErrorString(error));
}

}  // namespace strata
