// NOLINTBEGIN
#pragma once

#include "tools/simt/include/cuda_runtime.h"

namespace cub {

struct DeviceSelect {
  // Those of which `predicate` is true, in order. Without scratch: how much of it is needed.
  template <typename In, typename Out, typename Count, typename Predicate>
  static cudaError_t If(void* scratch, size_t& scratch_bytes, In in, Out* out, Count* selected,
                        int count, Predicate predicate, cudaStream_t = nullptr) {
    if (scratch == nullptr) {
      scratch_bytes = 1024;
      return cudaSuccess;
    }
    Count found = 0;
    for (int i = 0; i < count; ++i) {
      if (predicate(in[i])) out[found++] = in[i];
    }
    *selected = found;
    return cudaSuccess;
  }
};

}  // namespace cub
// NOLINTEND
