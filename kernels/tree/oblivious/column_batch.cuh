// ColumnBatch: columns that a tree got at once, in the memory of a GPU, and their histograms.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/core/device_memory.cuh"
#include "kernels/tree/oblivious/grow_column.h"
#include "kernels/tree/oblivious/oblivious_view.cuh"
#include "kernels/tree/oblivious/resized_memory.cuh"

namespace strata::gpu_tree {

class ColumnBatch {
 public:
  // Copies the columns, which may change after it, and makes room for the histograms of so many
  // leaves and outputs. Of fixed ones the last call's copy is used where it was of the same.
  Status Set(std::span<const GrowColumn> columns, bool are_fixed, size_t histograms,
             cudaStream_t stream);
  // Puts what kernels need of it into their view.
  void Show(ObliviousView* view) const;
  // From the GPU, after ScoreSplits; waits for it.
  Status TakeScores(cudaStream_t stream, std::span<std::vector<double>> scores);

  size_t columns() const { return columns_.size(); }
  const DeviceColumn& column(size_t number) const { return device_columns_[number]; }
  uint32_t bins_max() const { return bins_max_; }

  // Whether the histograms of the level's pairs, as they were before their split, are there.
  bool has_kept = false;

 private:
  Status Copy(cudaStream_t stream);

  bool are_fixed_ = false;
  std::vector<GrowColumn> columns_;
  std::vector<DeviceColumn> device_columns_;
  std::vector<ColumnBlock> blocks_;
  uint32_t bins_max_ = 0;
  uint64_t histogram_size_ = 0;
  ResizedMemory<uint8_t> by_column_;
  ResizedMemory<uint8_t> by_row_;
  ResizedMemory<DeviceColumn> column_views_;
  ResizedMemory<ColumnBlock> block_views_;
  ResizedMemory<GradientSums> histograms_;
  ResizedMemory<double> scores_;
  std::vector<double> taken_;
};

}  // namespace strata::gpu_tree
