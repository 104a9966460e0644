// Gradient-based one-side sampling: what worker/gbdt's Goss does to rows.
#include "kernels/tree/blocks/blocks_for.cuh"
#include "kernels/tree/gradient/key_cut.h"
#include "kernels/tree/gradient/slopes.cuh"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 256;
constexpr uint64_t kRowsOfBlock = 4096;

// Calls visit(row) for the rows of this block that are this thread's.
template <typename Visit>
__device__ void ForRows(uint64_t rows, const Visit& visit) {
  const uint64_t begin = blockIdx.x * kRowsOfBlock;
  const uint64_t end = begin + kRowsOfBlock < rows ? begin + kRowsOfBlock : rows;
  for (uint64_t row = begin + threadIdx.x; row < end; row += kThreads) visit(row);
}

// `row`: of the data.
__device__ bool IsTop(const GossCuts& cuts, uint64_t score, uint64_t row) {
  if (score != cuts.top_key) return score > cuts.top_key;
  return RowHash(cuts.tie_seed, row) >= cuts.tie_key;
}

__global__ void __launch_bounds__(kThreads)
    Score(uint64_t rows, uint32_t classes, const Slope* slopes, uint64_t* scores) {
  ForRows(rows, [&](uint64_t row) {
    double score = 0;
    for (uint32_t k = 0; k < classes; ++k) {
      const Slope slope = slopes[k * rows + row];
      const double product =
          static_cast<double>(slope.gradient) * static_cast<double>(slope.hessian);
      score += fabs(product);
    }
    scores[row] = math::BitsOf(score);
  });
}

__global__ void __launch_bounds__(kThreads)
    CountDigits(uint64_t rows, uint64_t first_row, GossKeys keys, GossCuts cuts,
                const uint64_t* scores, uint64_t cut, int shift, uint32_t* counts) {
  __shared__ uint32_t of_block[KeyCut::kDigits];
  for (uint32_t i = threadIdx.x; i < KeyCut::kDigits; i += kThreads) of_block[i] = 0;
  __syncthreads();
  ForRows(rows, [&](uint64_t row) {
    const uint64_t score = scores[row];
    uint64_t key = score;
    if (keys == GossKeys::kTies) {
      if (score != cuts.top_key) return;
      key = RowHash(cuts.tie_seed, first_row + row);
    } else if (keys == GossKeys::kOthers) {
      if (IsTop(cuts, score, first_row + row)) return;
      key = RowHash(cuts.other_seed, first_row + row);
    }
    if (KeyCut::IsCounted(key, cut, shift)) atomicAdd(&of_block[KeyCut::DigitOf(key, shift)], 1U);
  });
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < KeyCut::kDigits; i += kThreads) {
    if (of_block[i] > 0) atomicAdd(&counts[i], of_block[i]);
  }
}

__global__ void __launch_bounds__(kThreads)
    Mark(uint64_t rows, uint64_t first_row, uint32_t classes, GossCuts cuts, const uint64_t* scores,
         uint8_t* marks, SlopeRoom room) {
  __shared__ uint32_t of_warp[kBlockWarpsMax];
  for (uint32_t k = 0; k < classes; ++k) {
    ThreadSizes sizes;
    ForRows(rows, [&](uint64_t row) {
      const bool top = IsTop(cuts, scores[row], first_row + row);
      const bool is_in = top || RowHash(cuts.other_seed, first_row + row) >= cuts.other_key;
      Slope& slope = room.slopes[k * rows + row];
      if (is_in && !top) {
        slope.gradient *= cuts.factor;
        slope.hessian *= cuts.factor;
      }
      sizes.Take(slope);
      if (k == 0) marks[row] = is_in ? 1 : 0;
    });
    sizes.AddTo(room.sizes + k, of_warp);
  }
}

}  // namespace

void ScoreForGoss(uint64_t rows, uint32_t classes, const Slope* slopes, uint64_t* scores,
                  cudaStream_t stream) {
  Score<<<BlocksFor(rows, kRowsOfBlock), kThreads, 0, stream>>>(rows, classes, slopes, scores);
}

void CountGossDigits(const TreeView& view, GossKeys keys, const GossCuts& cuts,
                     const uint64_t* scores, uint64_t cut, int shift, uint32_t* counts,
                     cudaStream_t stream) {
  CountDigits<<<BlocksFor(view.rows, kRowsOfBlock), kThreads, 0, stream>>>(
      view.rows, view.first_row, keys, cuts, scores, cut, shift, counts);
}

void MarkGoss(const TreeView& view, uint32_t classes, const GossCuts& cuts, const uint64_t* scores,
              uint8_t* marks, const SlopeRoom& room, cudaStream_t stream) {
  Mark<<<BlocksFor(view.rows, kRowsOfBlock), kThreads, 0, stream>>>(
      view.rows, view.first_row, classes, cuts, scores, marks, room);
}

}  // namespace strata::gpu_tree
