// How the kernels of click models' layers see columns and are launched.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <initializer_list>
#include <type_traits>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/core/element.cuh"
#include "kernels/dense/gpu/columns.h"
#include "strata/exec.h"

namespace strata {

// kAtOnce elements side by side, as they are stored.
template <typename T, uint32_t kAtOnce>
struct alignas(kAtOnce * sizeof(T)) Side {
  T of[kAtOnce];
};

template <typename T>
struct ColumnsOf {
  T* data;
  size_t stride;
  size_t width;

  explicit ColumnsOf(const GpuColumns& columns)
      : data(static_cast<T*>(columns.data)), stride(columns.stride), width(columns.width) {}
  __device__ T* Row(size_t sample) const { return data + sample * stride; }
  // The elements n * kAtOnce and on.
  template <uint32_t kAtOnce>
  __device__ Side<T, kAtOnce>& SideOf(size_t sample, size_t n) const {
    return reinterpret_cast<Side<T, kAtOnce>*>(Row(sample))[n];
  }
  __device__ float Get(size_t sample, size_t e) const { return Widened(Row(sample)[e]); }
  __device__ void Set(size_t sample, size_t e, float x) const { Row(sample)[e] = Rounded<T>(x); }
  __device__ void Add(size_t sample, size_t e, float x) const {
    Set(sample, e, Get(sample, e) + x);
  }
};

// Calls visit(std::type_identity<T>()) with the type of the elements.
template <typename Visit>
void WithElement(GpuElement type, const Visit& visit) {
  if (type == GpuElement::kFp32) {
    visit(std::type_identity<float>());
  } else {
    visit(std::type_identity<__nv_bfloat16>());
  }
}
// WithElements calls visit(first, second) with the types of both.
template <typename Visit>
void WithElements(GpuElement first, GpuElement second, const Visit& visit) {
  WithElement(first, [&](auto a) { WithElement(second, [&](auto b) { visit(a, b); }); });
}

// Whether all rows of these columns are vectors of 16 bytes.
template <typename T>
bool AreVectors(std::initializer_list<GpuColumns> all) {
  constexpr size_t kAtOnce = 16 / sizeof(T);
  return std::all_of(all.begin(), all.end(), [](const GpuColumns& columns) {
    return reinterpret_cast<uintptr_t>(columns.data) % 16 == 0 && columns.stride % kAtOnce == 0 &&
           columns.width % kAtOnce == 0;
  });
}

// Whether all rows of these columns begin at a multiple of four elements.
template <typename T>
bool BeginInFours(std::initializer_list<GpuColumns> all) {
  return std::all_of(all.begin(), all.end(), [](const GpuColumns& columns) {
    return reinterpret_cast<uintptr_t>(columns.data) % (4 * sizeof(T)) == 0 &&
           columns.stride % 4 == 0;
  });
}
// Calls run(std::integral_constant<uint32_t>) with how many elements a thread takes at once.
template <typename Run>
void WithFours(bool in_fours, const Run& run) {
  if (in_fours) {
    run(std::integral_constant<uint32_t, 4>());
  } else {
    run(std::integral_constant<uint32_t, 1>());
  }
}

// Calls run(std::integral_constant<uint32_t>) likewise, with as many as 16 bytes hold, or 1.
template <typename T, typename Run>
void WithVectors(std::initializer_list<GpuColumns> all, const Run& run) {
  if (AreVectors<T>(all)) {
    run(std::integral_constant<uint32_t, 16 / sizeof(T)>());
  } else {
    run(std::integral_constant<uint32_t, 1>());
  }
}

constexpr uint32_t kLayerThreads = 256;
constexpr uint32_t kRowThreads = 32;  // of a block, side by side over the columns of one row
constexpr uint32_t kBlockRows = kLayerThreads / kRowThreads;

inline uint32_t BlocksForRows(size_t rows) {
  constexpr size_t kBlocksMax = 4096;
  return static_cast<uint32_t>(std::min((rows + kBlockRows - 1) / kBlockRows, kBlocksMax));
}

// op(sample, element) for all of them, with `width` elements a sample.
template <typename Op>
__global__ void __launch_bounds__(kLayerThreads)
    ForEachElement(const Op op, size_t samples, size_t width) {
  const size_t first = size_t{blockIdx.x} * kBlockRows + threadIdx.x / kRowThreads;
  for (size_t sample = first; sample < samples; sample += size_t{gridDim.x} * kBlockRows) {
    for (size_t e = threadIdx.x % kRowThreads; e < width; e += kRowThreads) op(sample, e);
  }
}
// The same for few elements a sample: a thread each, one after the other.
template <typename Op>
__global__ void __launch_bounds__(kLayerThreads)
    ForEachInOrder(const Op op, size_t count, uint32_t width) {
  const size_t stride = size_t{gridDim.x} * kLayerThreads;
  for (size_t n = size_t{blockIdx.x} * kLayerThreads + threadIdx.x; n < count; n += stride) {
    const size_t sample = width == 1 ? n : n / width;
    op(sample, n - sample * width);
  }
}
template <typename Op>
void RunForEachElement(const Exec& exec, const Op& op, size_t samples, size_t width) {
  if (samples == 0 || width == 0) return;
  if (width < kRowThreads || samples == 1) {
    const size_t count = samples * width;
    constexpr size_t kBlocksMax = 4096;
    const size_t blocks = std::min((count + kLayerThreads - 1) / kLayerThreads, kBlocksMax);
    ForEachInOrder<Op><<<static_cast<uint32_t>(blocks), kLayerThreads, 0, StreamOf(exec)>>>(
        op, count, static_cast<uint32_t>(width));
    return;
  }
  ForEachElement<Op>
      <<<BlocksForRows(samples), kLayerThreads, 0, StreamOf(exec)>>>(op, samples, width);
}

// The sum over the warp's lanes, in each of them.
inline __device__ float WarpSum(float x) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) x += __shfl_xor_sync(~0U, x, apart);
  return x;
}

// op(sample) by a warp for each of them.
template <typename Op>
__global__ void __launch_bounds__(kLayerThreads) ForEachSample(const Op op, size_t samples) {
  const size_t first = (size_t{blockIdx.x} * kLayerThreads + threadIdx.x) / 32;
  for (size_t sample = first; sample < samples;
       sample += size_t{gridDim.x} * (kLayerThreads / 32)) {
    op(sample);
  }
}
template <typename Op>
void RunForEachSample(const Exec& exec, const Op& op, size_t samples) {
  if (samples == 0) return;
  ForEachSample<Op><<<BlocksForRows(samples), kLayerThreads, 0, StreamOf(exec)>>>(op, samples);
}
inline __device__ uint32_t LaneOfWarp() { return threadIdx.x % 32; }

}  // namespace strata
