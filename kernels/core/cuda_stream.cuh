// The stream that an Exec names.
#pragma once

#include <cuda_runtime.h>

#include "strata/exec.h"

namespace strata {

inline cudaStream_t StreamOf(const Exec& exec) { return static_cast<cudaStream_t>(exec.stream); }

}  // namespace strata
