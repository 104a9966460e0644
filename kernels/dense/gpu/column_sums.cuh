// Sums over all samples of what a kernel computes by sample and column, made as it goes: that
// spares another pass over the columns.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/dense/gpu/launch.cuh"
#include "strata/exec.h"

namespace strata {

constexpr uint32_t kSumParts = 256;  // that the samples of a sum are divided into

// sums[e] = the sum of parts[p * width + e] over all parts.
void JoinColumnParts(const Exec& exec, const float* parts, size_t width, float* sums);

// Thread c of a row works on kAtOnce columns of a tile; a block is a tile and a part. The numbers
// of kAhead samples are asked for before the first of them is worked on.
template <uint32_t kAtOnce, typename Op>
__global__ void __launch_bounds__(kLayerThreads)
    SumWhile(const Op op, size_t columns, size_t samples, float* parts) {
  __shared__ float of_rows[kLayerThreads * kAtOnce];
  constexpr size_t kTile = kLayerThreads * kAtOnce;
  const uint32_t part = blockIdx.x % kSumParts;
  const size_t tile = blockIdx.x / kSumParts * kTile;
  const auto width = static_cast<uint32_t>(min(kTile, columns - tile));
  const uint32_t lanes = (width + kAtOnce - 1) / kAtOnce;
  const uint32_t rows = kLayerThreads / lanes;
  const uint32_t row = threadIdx.x / lanes;
  const uint32_t column = threadIdx.x % lanes * kAtOnce;
  float sums[kAtOnce] = {};
  if (row < rows) {
    constexpr uint32_t kAhead = Op::kAhead;
    const size_t stride = size_t{kSumParts} * rows;
    const size_t n = (tile + column) / kAtOnce;
    for (size_t i = size_t{part} * rows + row; i < samples; i += kAhead * stride) {
      typename Op::Loaded loaded[kAhead] = {};
#pragma unroll
      for (uint32_t k = 0; k < kAhead; ++k) {
        if (i + k * stride < samples) loaded[k] = op.Load(i + k * stride, n);
      }
#pragma unroll
      for (uint32_t k = 0; k < kAhead; ++k) {
        if (i + k * stride < samples) op(loaded[k], i + k * stride, n, sums);
      }
    }
#pragma unroll
    for (uint32_t n = 0; n < kAtOnce; ++n) of_rows[row * width + column + n] = sums[n];
  }
  __syncthreads();
  for (uint32_t e = threadIdx.x; e < width; e += kLayerThreads) {
    float sum = 0.0F;
    for (uint32_t other = 0; other < rows; ++other) sum += of_rows[other * width + e];
    parts[part * columns + tile + e] = sum;
  }
}

// Calls op(op.Load(sample, n), sample, n, of_columns) for the columns n * kAtOnce and on of each
// sample, which adds to of_columns[k] what the sum of column n * kAtOnce + k gains. Loads of other
// samples may come in between. scratch: GpuSumScratchBytes(columns).
// Without sums (null) it is left in parts there.
template <uint32_t kAtOnce, typename Op>
void RunWithColumnSums(const Exec& exec, const Op& op, size_t samples, size_t columns, float* sums,
                       void* scratch) {
  if (columns == 0) return;
  auto* const parts = static_cast<float*>(scratch);
  constexpr size_t kTile = kLayerThreads * kAtOnce;
  const auto tiles = static_cast<uint32_t>((columns + kTile - 1) / kTile);
  SumWhile<kAtOnce>
      <<<tiles * kSumParts, kLayerThreads, 0, StreamOf(exec)>>>(op, columns, samples, parts);
  if (sums != nullptr) JoinColumnParts(exec, parts, columns, sums);
}

}  // namespace strata
