// DeviceBins: some rows of a BinMatrix in a GPU's memory.
#pragma once

#include <memory>
#include <vector>

#include "kernels/tree/bin_matrix.h"
#include "kernels/tree/device_memory.cuh"
#include "kernels/tree/device_tree.cuh"

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

  // On the host; what they lead to is in the GPU's memory.
  const std::vector<FeatureView>& features() const { return features_; }
  const std::vector<BlockView>& blocks() const { return blocks_; }
  uint64_t histogram_size() const { return histogram_size_; }
  uint32_t narrow_bins_max() const { return narrow_bins_max_; }  // of a narrow feature
  uint32_t set_words() const { return set_words_; }
  // Puts what kernels need of it into their view.
  void Show(TreeView* view) const;

 private:
  Status CopyBlock(const BinMatrix& bins, const BinBlock& block,
                   std::span<const FeatureShape> shapes, cudaStream_t stream);
  Status CopyBytes(const void* bytes, size_t count, cudaStream_t stream, const void** copy);

  RowRange rows_;  // of the data
  std::vector<FeatureView> features_;
  std::vector<BlockView> blocks_;
  uint64_t histogram_size_ = 0;
  uint32_t narrow_bins_max_ = 1;
  uint32_t set_words_ = 0;
  std::vector<std::unique_ptr<DeviceMemory<std::byte>>> copies_;
  DeviceMemory<FeatureView> device_features_;
  DeviceMemory<BlockView> device_blocks_;
};

}  // namespace strata::gpu_tree
