// LeafPercentiles: of rows that are all known to one GPU, a percentile of each leaf's residuals.
// Rows are sorted by residual, then by leaf, both stably, so that those with equal residuals stay
// in the order of the rows, as on the CPU.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/core/device_memory.cuh"
#include "kernels/tree/gradient/slopes.cuh"
#include "kernels/tree/grow/grown_tree.h"
#include "kernels/tree/grow/percentile.h"

namespace strata::gpu_tree {

constexpr uint16_t kNoLeaf = 0xffff;  // of a row that the tree was not grown with

// One thread at a time, with its GPU as the current one.
class LeafPercentiles {
 public:
  explicit LeafPercentiles(const LeafPercentile& what) : what_(what) {}

  // Copies labels and weights (none: all 1), and takes memory for trees of up to so many leaves.
  // kRefused: there is too little, or there are more than 2^31 - 2 rows.
  Status Start(std::span<const float> labels, std::span<const float> weights, size_t leaves_max,
               cudaStream_t stream);
  // The leaf of each row, or kNoLeaf, is put here before Find.
  uint16_t* leaf_of() const { return leaf_of_.data(); }
  // Of each leaf of the tree, by the scores of one class. Waits for it.
  Result<std::vector<double>> Find(const GrownTree& tree, const ScoreView& scores,
                                   cudaStream_t stream);

 private:
  Status SortByResidual(void* scratch, size_t* bytes, cudaStream_t stream);
  Status SortByLeaf(void* scratch, size_t* bytes, size_t leaves, cudaStream_t stream);
  Status AddUpWeights(void* scratch, size_t* bytes, size_t rows, cudaStream_t stream);
  // Where the sort of residuals has left rows, and where it leaves those that are sorted by leaf.
  const uint32_t* by_residual() const { return rows_[residual_side_].data(); }
  const uint32_t* by_leaf() const { return rows_[leaf_side_].data(); }
  const float* weights() const { return weights_.size() == 0 ? nullptr : weights_.data(); }

  const LeafPercentile what_;
  size_t row_count_ = 0;
  DeviceMemory<float> labels_;
  DeviceMemory<float> weights_;
  DeviceMemory<uint16_t> leaf_of_;
  DeviceMemory<uint64_t> keys_[2];       // of residuals; then of sums of weights before
  DeviceMemory<uint32_t> rows_[2];       // row numbers
  DeviceMemory<uint16_t> leaf_keys_[2];  // of rows by residual
  int residual_side_ = 0;
  int leaf_side_ = 0;
  DeviceMemory<std::byte> scratch_;
  DeviceMemory<uint32_t> begins_;  // of each leaf's rows, and an end
  DeviceMemory<double> outputs_;
};

}  // namespace strata::gpu_tree
