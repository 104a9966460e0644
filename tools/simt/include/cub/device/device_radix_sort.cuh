// NOLINTBEGIN
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "tools/simt/include/cuda_runtime.h"

namespace cub {

struct DeviceRadixSort {
  // Stable, by bits begin_bit to end_bit - 1. Without scratch: how much of it is needed.
  template <typename K, typename V>
  static cudaError_t SortPairs(void* scratch, size_t& scratch_bytes, const K* keys_in, K* keys_out,
                               const V* values_in, V* values_out, int count, int begin_bit = 0,
                               int end_bit = sizeof(K) * 8, cudaStream_t = nullptr) {
    if (scratch == nullptr) {
      scratch_bytes = 1024;
      return cudaSuccess;
    }
    constexpr int kBits = sizeof(K) * 8;
    const K below_end = end_bit == kBits ? ~K{0} : (K{1} << end_bit) - 1;
    const K mask = below_end & ~((K{1} << begin_bit) - 1);
    std::vector<uint32_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [&](uint32_t i) { return keys_in[i] & mask; });
    for (size_t i = 0; i < order.size(); ++i) {
      keys_out[i] = keys_in[order[i]];
      values_out[i] = values_in[order[i]];
    }
    return cudaSuccess;
  }
};

}  // namespace cub
// NOLINTEND
