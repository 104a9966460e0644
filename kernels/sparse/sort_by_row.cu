#include <algorithm>
#include <bit>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/sparse/sort_by_row.h"
#include "kernels/sparse/sort_pairs.cuh"

namespace strata {
namespace {

constexpr uint32_t kThreads = 256;

__global__ void NumberKeys(uint32_t keys, uint32_t* numbers) {
  const uint32_t key = blockIdx.x * blockDim.x + threadIdx.x;
  if (key < keys) numbers[key] = key;
}

__global__ void FindStarts(uint32_t keys, const uint32_t* rows, const uint32_t* numbers,
                           uint32_t* sorted, uint32_t* starts) {
  const uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= keys) return;
  sorted[at] = numbers[at];
  const uint32_t row = rows[at];
  if (at == 0 || rows[at - 1] != row) starts[row] = at;
  if (at == keys - 1) starts[row + 1] = keys;
}

}  // namespace

void SortByRow(const Exec& exec, const uint32_t* index, size_t keys, size_t rows, uint32_t* sorted,
               uint32_t* starts, std::span<std::byte> scratch) {
  if (keys == 0) return;
  const cudaStream_t stream = StreamOf(exec);
  const auto count = static_cast<uint32_t>(keys);
  const uint32_t blocks = (count + kThreads - 1) / kThreads;
  Scratch left(scratch);
  auto* const numbers = left.Take<uint32_t>(keys);
  auto* const ids = left.Take<uint32_t>(keys);
  SortedPairs<uint32_t> pairs{{ids, left.Take<uint32_t>(keys)},
                              {numbers, left.Take<uint32_t>(keys)}};
  (void)cudaMemcpyAsync(ids, index, keys * sizeof(uint32_t), cudaMemcpyDefault, stream);
  NumberKeys<<<blocks, kThreads, 0, stream>>>(count, numbers);
  const int bits = std::max(1, static_cast<int>(std::bit_width(rows - 1)));
  SortPairs(&pairs, keys, bits, &left, stream);
  FindStarts<<<blocks, kThreads, 0, stream>>>(count, pairs.keys.Current(), pairs.values.Current(),
                                              sorted, starts);
}

size_t SortByRowScratchBytes(size_t keys) {
  return 4 * ScratchAligned(keys * sizeof(uint32_t)) + SortScratchBytes<uint32_t>(keys);
}

}  // namespace strata
