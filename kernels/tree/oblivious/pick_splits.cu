// The split with the largest score of a level; of equal ones the first column's first. So does a
// host choose where scores have no noise and columns no rules.
#include "kernels/tree/oblivious/oblivious_view.cuh"
#include "strata/gpu/shuffle.cuh"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 1024;

// Whether a split comes before another. A score that is no number never does.
__device__ bool IsBefore(const PickedSplit& a, const PickedSplit& b) {
  if (a.column == PickedSplit::kNone || b.column == PickedSplit::kNone) {
    return a.column != PickedSplit::kNone;
  }
  if (a.score != b.score) return a.score > b.score;
  return a.column != b.column ? a.column < b.column : a.place < b.place;
}

__device__ PickedSplit FirstOfWarp(PickedSplit own) {
#pragma unroll
  for (int lanes = kWarpLanes / 2; lanes > 0; lanes /= 2) {
    PickedSplit other;
    other.score = __shfl_xor_sync(kWholeWarp, own.score, lanes);
    other.column = __shfl_xor_sync(kWholeWarp, own.column, lanes);
    other.place = __shfl_xor_sync(kWholeWarp, own.place, lanes);
    if (IsBefore(other, own)) own = other;
  }
  return own;
}

// Of all threads of a block, in the first warp.
__device__ PickedSplit FirstOf(PickedSplit own) {
  __shared__ PickedSplit of_warp[kThreads / kWarpLanes];
  own = FirstOfWarp(own);
  if (threadIdx.x % kWarpLanes == 0) of_warp[threadIdx.x / kWarpLanes] = own;
  __syncthreads();
  return threadIdx.x < kWarpLanes ? FirstOfWarp(of_warp[threadIdx.x]) : own;
}

// A block of threads has a block of columns.
__global__ void __launch_bounds__(kThreads)
    PickOfBlocks(const __grid_constant__ ObliviousView view, PickedSplit* of_blocks) {
  const ColumnBlock& block = view.block[blockIdx.x];
  PickedSplit best;
  for (uint32_t cell = threadIdx.x; cell < block.bins_max * kBlockColumns; cell += kThreads) {
    PickedSplit split{.column = block.first_column + cell % kBlockColumns,
                      .place = cell / kBlockColumns};
    if (split.column >= view.column_count) continue;
    if (split.place >= view.columns[split.column].splits) continue;
    split.score = view.scores[block.histogram + cell];
    if (split.score == split.score && IsBefore(split, best)) best = split;
  }
  const PickedSplit first = FirstOf(best);
  if (threadIdx.x == 0) of_blocks[blockIdx.x] = first;
}

__global__ void __launch_bounds__(kThreads)
    PickOfAll(const PickedSplit* of_blocks, uint32_t blocks, PickedSplit* picked) {
  PickedSplit best;
  for (uint32_t i = threadIdx.x; i < blocks; i += kThreads) {
    if (IsBefore(of_blocks[i], best)) best = of_blocks[i];
  }
  const PickedSplit first = FirstOf(best);
  if (threadIdx.x == 0) *picked = first;
}

}  // namespace

void PickSplit(const ObliviousView& view, PickedSplit* of_blocks, PickedSplit* picked,
               cudaStream_t stream) {
  if (view.blocks == 1) {
    PickOfBlocks<<<1, kThreads, 0, stream>>>(view, picked);
    return;
  }
  PickOfBlocks<<<view.blocks, kThreads, 0, stream>>>(view, of_blocks);
  PickOfAll<<<1, kThreads, 0, stream>>>(of_blocks, view.blocks, picked);
}

}  // namespace strata::gpu_tree
