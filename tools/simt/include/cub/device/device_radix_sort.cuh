// NOLINTBEGIN
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "tools/simt/include/cuda_runtime.h"

namespace cub {

template <typename T>
struct DoubleBuffer {
  T* d_buffers[2] = {};
  int selector = 0;
  DoubleBuffer() = default;
  DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
  T* Current() { return d_buffers[selector]; }
  T* Alternate() { return d_buffers[selector ^ 1]; }
};

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
  // The same in one pass, from the current arrays to the others.
  template <typename K, typename V>
  static cudaError_t SortPairs(void* scratch, size_t& scratch_bytes, DoubleBuffer<K>& keys,
                               DoubleBuffer<V>& values, int count, int begin_bit = 0,
                               int end_bit = sizeof(K) * 8, cudaStream_t stream = nullptr) {
    const cudaError_t status =
        SortPairs(scratch, scratch_bytes, static_cast<const K*>(keys.Current()), keys.Alternate(),
                  static_cast<const V*>(values.Current()), values.Alternate(), count, begin_bit,
                  end_bit, stream);
    if (scratch != nullptr) {
      keys.selector ^= 1;
      values.selector ^= 1;
    }
    return status;
  }
  // Keys alone.
  template <typename K>
  static cudaError_t SortKeys(void* scratch, size_t& scratch_bytes, DoubleBuffer<K>& keys,
                              int count, int begin_bit = 0, int end_bit = sizeof(K) * 8,
                              cudaStream_t stream = nullptr) {
    std::vector<uint8_t> none(static_cast<size_t>(count));
    DoubleBuffer<uint8_t> values(none.data(), none.data());
    return SortPairs(scratch, scratch_bytes, keys, values, count, begin_bit, end_bit, stream);
  }
};

// The same with a policy of the caller's, which means nothing here.
namespace detail {
struct identity_decomposer_t {};
}  // namespace detail
enum class SortOrder { Ascending };
template <SortOrder, typename K, typename V, typename Count, typename Decomposer, typename Hub>
struct DispatchRadixSort {
  static cudaError_t Dispatch(void* scratch, size_t& scratch_bytes, DoubleBuffer<K>& keys,
                              DoubleBuffer<V>& values, Count count, int begin_bit, int end_bit,
                              bool /*is_overwrite_okay*/, cudaStream_t stream) {
    return DeviceRadixSort::SortPairs(scratch, scratch_bytes, keys, values, static_cast<int>(count),
                                      begin_bit, end_bit, stream);
  }
};

enum { RADIX_RANK_MATCH_EARLY_COUNTS_ANY, RADIX_RANK_MEMOIZE };
enum { BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum { RADIX_SORT_STORE_DIRECT };
enum { BLOCK_LOAD_DIRECT };
enum { LOAD_LDG };
template <int, typename, typename>
struct ChainedPolicy {};
template <int threads, int items, int parts, typename K, int bits>
struct AgentRadixSortHistogramPolicy {};
template <int threads, int bits>
struct AgentRadixSortExclusiveSumPolicy {};
template <int threads, int items, typename K, int parts, int rank, int scan, int store, int bits>
struct AgentRadixSortOnesweepPolicy {};
template <int threads, int items, typename K, int load, int modifier, int rank, int scan, int bits>
struct AgentRadixSortDownsweepPolicy {};

}  // namespace cub
// NOLINTEND
