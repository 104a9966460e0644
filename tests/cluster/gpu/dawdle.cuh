// A kernel that makes its stream late.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace strata {

// Until `cycles` have passed.
static __global__ void Dawdle(int64_t cycles) {
  const int64_t until = clock64() + cycles;
  while (clock64() < until) {
  }
}

}  // namespace strata
