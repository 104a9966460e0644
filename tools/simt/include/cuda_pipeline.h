// Copies to shared memory: done when they are asked for.
// NOLINTBEGIN
#pragma once

#include "tools/simt/include/cuda_runtime.h"

inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes) {
  std::memcpy(to, from, bytes);
}
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(size_t) {}
// NOLINTEND
