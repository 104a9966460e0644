// DeviceBins: bins of some rows in a GPU's memory, laid out as in a BinMatrix.
#pragma once

#include <memory>
#include <vector>

#include "kernels/core/device_memory.cuh"
#include "kernels/tree/bins/bin_matrix.h"
#include "kernels/tree/bins/gpu_bins.h"
#include "kernels/tree/grow/device_tree.cuh"

namespace strata::gpu_tree {

struct RowRange {
  uint64_t begin = 0;
  uint64_t count = 0;
};

class DeviceBins {
 public:
  // Of some rows, on the current GPU. kRefused: there is too little memory.
  Status Copy(const BinMatrix& bins, const RowRange& rows, std::span<const FeatureShape> shapes,
              cudaStream_t stream);
  // The same without columns: for trees that rows walk down.
  Status CopyRows(const BinMatrix& bins, const RowRange& rows, std::span<const FeatureShape> shapes,
                  cudaStream_t stream);
  // Room for all rows of a matrix of this layout; what is in it is not copied.
  Status Reserve(const BinMatrix& layout, std::span<const FeatureShape> shapes);

  // On the host; what they lead to is in the GPU's memory.
  const std::vector<FeatureView>& features() const { return features_; }
  const std::vector<BlockView>& blocks() const { return blocks_; }
  uint64_t histogram_size() const { return histogram_size_; }
  uint32_t narrow_bins_max() const { return narrow_bins_max_; }  // of a narrow feature
  uint32_t set_words() const { return set_words_; }
  // Puts what kernels need of it into their view.
  void Show(TreeView* view) const;

 private:
  Status AddBlock(const BinMatrix& bins, const BinBlock& block,
                  std::span<const FeatureShape> shapes);
  Status MakeRoom(size_t bytes, const void** room);
  Status PutViews();

  RowRange rows_;  // of the data
  bool has_columns_ = true;
  std::vector<FeatureView> features_;
  std::vector<BlockView> blocks_;
  uint64_t histogram_size_ = 0;
  uint32_t narrow_bins_max_ = 1;
  uint32_t set_words_ = 0;
  std::vector<std::unique_ptr<DeviceMemory<std::byte>>> rooms_;
  DeviceMemory<FeatureView> device_features_;
  DeviceMemory<BlockView> device_blocks_;
};

// GpuBins as their own side sees them.
class HeldBins : public GpuBins {
 public:
  virtual const DeviceBins& bins() const = 0;
};

}  // namespace strata::gpu_tree
