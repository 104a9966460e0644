// Gradients of rows as floats, class * rows + row, from their scores; and the largest of them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/core/math.h"
#include "kernels/tree/grow/device_tree.cuh"
#include "kernels/tree/grow/gpu_trees.h"
#include "strata/gpu/shuffle.cuh"

namespace strata::gpu_tree {

struct Slope {
  float gradient;
  float hessian;
};

// Scores of this GPU's rows, or of a class where all rows have the same.
struct ScoreView {
  const double* scores = nullptr;
  uint64_t row_stride = 1;
  uint64_t class_stride = 0;

  __device__ double At(uint32_t k, uint64_t row) const {
    return scores[k * class_stride + row * row_stride];
  }
};

// What losses are of, besides.
struct RowLabels {
  const float* labels = nullptr;
  const float* weights = nullptr;  // null: all 1

  __device__ Slope Weigh(const LossSlope& exact, uint64_t row) const {
    const double weight = weights == nullptr ? 1 : weights[row];
    return {static_cast<float>(exact.gradient * weight),
            static_cast<float>(exact.hessian * weight)};
  }
  // A product of floats rounds the same whether it is of doubles before or not.
  __device__ Slope Weigh(const Slope& rounded, uint64_t row) const {
    const float weight = weights == nullptr ? 1 : weights[row];
    return {rounded.gradient * weight, rounded.hessian * weight};
  }
};

// Where slopes of all classes go, and the sizes of each class, which are 0 before.
struct SlopeRoom {
  Slope* slopes = nullptr;
  SlopeSizes* sizes = nullptr;
};

// The sizes of a thread's slopes of a class, and then of a block's.
struct ThreadSizes {
  uint32_t gradient = 0;
  uint32_t hessian = 0;
  uint32_t not_finite = 0;

  __device__ void Take(const Slope& slope) {
    if (!math::IsFinite(slope.gradient) || !math::IsFinite(slope.hessian)) {
      ++not_finite;
      return;
    }
    // Floats that are not negative compare as their bits do.
    gradient =
        max(gradient, __float_as_uint(slope.gradient < 0 ? -slope.gradient : slope.gradient));
    if (slope.hessian > 0) hessian = max(hessian, __float_as_uint(slope.hessian));
  }

  // All threads of a block; `of_warp` is shared memory for kBlockWarpsMax values.
  __device__ void AddTo(SlopeSizes* sizes, uint32_t* of_warp) const {
    const uint32_t largest_gradient = ShuffleReduceMax(gradient, 0U, of_warp);
    const uint32_t largest_hessian = ShuffleReduceMax(hessian, 0U, of_warp);
    const uint32_t all_not_finite = ShuffleReduceSum(not_finite, of_warp);
    if (threadIdx.x != 0) return;
    atomicMax(&sizes->gradient, largest_gradient);
    atomicMax(&sizes->hessian, largest_hessian);
    if (all_not_finite > 0) {
      atomicAdd(&sizes->not_finite, static_cast<unsigned long long>(all_not_finite));
    }
  }
};

// Of losses whose gradients depend on a row's own scores and label: all but those of queries.
void ComputeRowSlopes(uint64_t rows, const GpuLoss& loss, const ScoreView& scores,
                      const RowLabels& labels, const SlopeRoom& room, cudaStream_t stream);

// Queries of this GPU, and what their losses need.
struct QueryView {
  const uint32_t* begins = nullptr;  // of each query's rows in the data, and an end
  uint32_t count = 0;
  uint32_t rows_max = 0;                    // of a query
  const double* gains = nullptr;            // of each label
  const double* inverse_max_dcg = nullptr;  // of each query
  const double* discounts = nullptr;        // of each place
  // Of a row each, for queries that are too long for shared memory: two (lambdarank) or three
  // (rank_xendcg) numbers, one behind all rows' other, and a place.
  double* numbers = nullptr;
  uint32_t* places = nullptr;
};
constexpr uint32_t kSharedQueryRows = 1024;  // a longer query needs that memory

void ComputeQuerySlopes(const TreeView& view, const loss::LambdaRank& loss,
                        const QueryView& queries, const ScoreView& scores, const RowLabels& labels,
                        const SlopeRoom& room, cudaStream_t stream);
void ComputeQuerySlopes(const TreeView& view, const loss::XeNdcg& loss, uint64_t round,
                        const QueryView& queries, const ScoreView& scores, const RowLabels& labels,
                        const SlopeRoom& room, cudaStream_t stream);

// Which keys of gradient-based sampling are counted.
enum class GossKeys : uint8_t {
  kScores,  // of all rows
  kTies,    // hashes of rows of the score that is the cut
  kOthers,  // hashes of rows that are not at the top
};

// What is known of a sample; `factor` and seeds are those of GpuGoss.
struct GossCuts {
  uint64_t top_key = 0;
  uint64_t tie_key = 0;
  uint64_t other_key = 0;
  uint64_t tie_seed = 0;
  uint64_t other_seed = 0;
  float factor = 1;
};

// Bits of each row's sum of |gradient * hessian| over classes.
void ScoreForGoss(uint64_t rows, uint32_t classes, const Slope* slopes, uint64_t* scores,
                  cudaStream_t stream);
// Adds to counts[digit] how many keys that agree with `cut` so far have which digit at `shift`.
void CountGossDigits(const TreeView& view, GossKeys keys, const GossCuts& cuts,
                     const uint64_t* scores, uint64_t cut, int shift, uint32_t* counts,
                     cudaStream_t stream);
// Says of each row whether it is in the sample, multiplies slopes of those that stand for others,
// and finds the sizes anew, which are 0 before.
void MarkGoss(const TreeView& view, uint32_t classes, const GossCuts& cuts, const uint64_t* scores,
              uint8_t* marks, const SlopeRoom& room, cudaStream_t stream);

}  // namespace strata::gpu_tree
