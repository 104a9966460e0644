// Sums, minima, maxima and prefix sums of one value a thread: of a warp by shuffles, of a block by
// one more exchange in shared memory. The building blocks of LightGBM's GPU trees (its
// include/LightGBM/cuda/cuda_algorithms.hpp), under their names; strata/gpu/arrays.h
// has those of arrays.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace strata {

constexpr unsigned kWholeWarp = ~0U;
constexpr unsigned kWarpLanes = 32;
constexpr unsigned kBlockWarpsMax = 32;

struct PlusOf {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct LeastOf {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct LargestOf {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

// --- A warp, all of whose lanes call. T is of at most 64 bits; op is associative and commutative.
// ---

// Of all lanes' values, in every lane.
template <typename T, typename Op>
__device__ T ShuffleReduce(T value, const Op& op) {
  for (int lanes = kWarpLanes / 2; lanes > 0; lanes /= 2) {
    value = op(value, __shfl_xor_sync(kWholeWarp, value, lanes));
  }
  return value;
}

// Of the values of this lane and those below it.
template <typename T>
__device__ T ShufflePrefixSum(T value) {
  const int lane = static_cast<int>(threadIdx.x % kWarpLanes);
  for (int lanes = 1; lanes < static_cast<int>(kWarpLanes); lanes *= 2) {
    const T below = __shfl_sync(kWholeWarp, value, lane < lanes ? lane : lane - lanes);
    if (lane >= lanes) value = value + below;
  }
  return value;
}

// --- A block of whole warps, all of whose threads call. `of_warp` is shared memory for
// kBlockWarpsMax values, free again when the next of these calls has begun. ---

// Of all threads' values, in every thread. op(identity, x) is x.
template <typename T, typename Op>
__device__ T BlockShuffleReduce(T value, T identity, const Op& op, T* of_warp) {
  const unsigned lane = threadIdx.x % kWarpLanes;
  value = ShuffleReduce(value, op);
  __syncthreads();  // the last call's values have been read
  if (lane == 0) of_warp[threadIdx.x / kWarpLanes] = value;
  __syncthreads();
  return ShuffleReduce(lane < blockDim.x / kWarpLanes ? of_warp[lane] : identity, op);
}

template <typename T>
__device__ T ShuffleReduceSum(T value, T* of_warp) {
  return BlockShuffleReduce(value, T{}, PlusOf{}, of_warp);
}
// `largest` is no less than any value, `smallest` no larger.
template <typename T>
__device__ T ShuffleReduceMin(T value, T largest, T* of_warp) {
  return BlockShuffleReduce(value, largest, LeastOf{}, of_warp);
}
template <typename T>
__device__ T ShuffleReduceMax(T value, T smallest, T* of_warp) {
  return BlockShuffleReduce(value, smallest, LargestOf{}, of_warp);
}

// Of the values of this thread and those before it; the sum of all goes to *total.
template <typename T>
__device__ T ShufflePrefixSum(T value, T* of_warp, T* total) {
  const unsigned lane = threadIdx.x % kWarpLanes;
  const unsigned warp = threadIdx.x / kWarpLanes;
  const unsigned warps = blockDim.x / kWarpLanes;
  value = ShufflePrefixSum(value);
  __syncthreads();  // the last call's values have been read
  if (lane == kWarpLanes - 1) of_warp[warp] = value;
  __syncthreads();
  // Every warp adds up all warps' sums: cheaper than one that the others wait for.
  const T until = ShufflePrefixSum(lane < warps ? of_warp[lane] : T{});
  *total = __shfl_sync(kWholeWarp, until, static_cast<int>(warps - 1));
  const T before = __shfl_sync(kWholeWarp, until, static_cast<int>(warp == 0 ? 0 : warp - 1));
  return warp == 0 ? value : before + value;
}

}  // namespace strata
