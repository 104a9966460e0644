// GpuSlopes: what one GPU makes gradients of: labels, weights and queries of its rows; and the
// gradients as floats, with the rows that a round's trees grow with. Its pieces only enqueue.
#pragma once

#include <memory>
#include <span>

#include "kernels/core/device_memory.cuh"
#include "kernels/tree/gradient/key_cut.h"
#include "kernels/tree/gradient/row_kernels.cuh"
#include "kernels/tree/gradient/slopes.cuh"

namespace strata::gpu_tree {

// One thread at a time, with its GPU as the current one. Spans are of this GPU's rows.
class GpuSlopes {
 public:
  // `view` has the rows; of so many classes. The queries are those of all rows of the data, and
  // outlive this.
  GpuSlopes(const TreeView& view, size_t classes, std::span<const size_t> query_begins)
      : view_(view), classes_(classes), query_begins_(query_begins) {}

  // Once.
  Status SetLabels(std::span<const float> labels, std::span<const float> weights,
                   const GpuRanking& ranking, cudaStream_t stream);
  // Memory for the slopes of all classes.
  Status Reserve();

  // Slopes of all classes, their sizes, and a bag of all rows.
  Status Compute(const GpuLoss& loss, uint64_t round, const ScoreView& scores, cudaStream_t stream);
  // Puts the sizes of a class into the tree's state.
  Status TakeSizes(size_t k, cudaStream_t stream);
  Slope* OfClass(size_t k) const { return slopes_.data() + k * view_.rows; }

  // Which rows trees grow with.
  Status SetBag(const GpuBag& bag, cudaStream_t stream);
  const BagView& bag() const { return bag_; }
  // The same by gradients: keys are counted digit by digit, until all cuts are known.
  Status ScoreRows(cudaStream_t stream);
  Status CountDigits(GossKeys keys, const GossCuts& cuts, uint64_t cut, int shift,
                     cudaStream_t stream);
  // Of the last CountDigits, once it has run.
  std::span<const uint32_t> counts() const { return host_counts_.values(); }
  Status Mark(const GossCuts& cuts, cudaStream_t stream);

 private:
  Status NeedQueries(cudaStream_t stream);
  Status SetRanking(const GpuRanking& ranking, cudaStream_t stream);
  Status ReserveForQueries(const GpuLoss& loss);
  Status BringHere(GpuLoss* loss, cudaStream_t stream);
  Status ClearSizes(cudaStream_t stream);
  uint32_t classes() const { return static_cast<uint32_t>(classes_); }

  const TreeView& view_;
  const size_t classes_;
  const std::span<const size_t> query_begins_;
  DeviceMemory<float> labels_;
  DeviceMemory<float> weights_;
  DeviceMemory<loss::SideWeights> side_weights_;  // of each class
  DeviceMemory<uint32_t> begins_;                 // of all queries of the data
  QueryView queries_;                             // of this GPU
  DeviceMemory<double> gains_;
  DeviceMemory<double> inverse_max_dcg_;
  DeviceMemory<double> discounts_;
  DeviceMemory<double> query_numbers_;
  DeviceMemory<uint32_t> query_places_;
  DeviceMemory<Slope> slopes_;
  DeviceMemory<SlopeSizes> sizes_;
  BagView bag_;
  DeviceMemory<uint64_t> goss_scores_;
  DeviceMemory<uint8_t> marks_;
  DeviceMemory<uint32_t> counts_;
  PinnedMemory<uint32_t> host_counts_;
};

}  // namespace strata::gpu_tree
