// LeafWork: the rows of a tree's leaves, their partitions and their histograms, by the CPU's
// threads or on a GPU; the same to the bit.
#pragma once

#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/tree/grow/gpu_leaves.h"
#include "kernels/tree/grow/grown_tree.h"
#include "strata/status.h"
#include "worker/gbdt/grower/histogram_builder.h"
#include "worker/gbdt/grower/leaf_rows.h"

namespace strata {

// One thread at a time. Calls do not fail: once the GPU has, results are worth nothing, and
// status() says so.
class LeafWork {
 public:
  // All outlive it. Without a GPU (null) on the pool's threads.
  LeafWork(const BinMatrix& bins, std::span<const FeatureShape> shapes, WorkPool& pool,
           size_t threads, GpuLeaves* gpu)
      : bins_(bins),
        shapes_(shapes),
        pool_(pool),
        gpu_(gpu),
        rows_(pool),
        builder_(bins, pool, threads) {}

  // All rows of the bag, which ascend, as one leaf. `by_row`: of all rows of the data.
  void Start(std::span<const uint32_t> bag, const FixedGradients& by_row);
  size_t size() const { return size_; }  // of the bag
  GradientSums Sum() const;              // of all rows, before the first split

  // How many rows of each leaf are left.
  std::vector<int64_t> Split(std::span<const LeafSplit> leaves);
  // Of the blocks that are asked for. Without features (of each, whether it is asked for), bins are
  // to be finished before the next call.
  void Build(std::span<const LeafHistogram> leaves, std::span<const uint8_t> block_used,
             std::span<const uint8_t> finished);
  // Any number of threads, each with bins of its own.
  void Finish(size_t begin, size_t count, std::span<GradientSums> histogram) const {
    if (gpu_ == nullptr) builder_.Finish(begin, count, histogram);
  }

  // Of a leaf's rows, by the bins of one feature.
  std::vector<GradientSums> SumsOf(const LeafPlace& leaf, size_t feature);

  // Once no leaf is split any more: all leaves' rows, one behind the other.
  void Settle(std::span<const GrownLeaf> leaves);
  // Of settled leaves that are to be one again: its rows ascend. Any number of threads.
  void Ascend(size_t begin, size_t count);
  std::span<const uint32_t> settled() const;

  const Status& status() const { return status_; }

 private:
  void Keep(const Status& status) {
    if (status_.ok()) status_ = status;
  }

  const BinMatrix& bins_;
  const std::span<const FeatureShape> shapes_;
  WorkPool& pool_;
  GpuLeaves* const gpu_;
  LeafRows rows_;
  HistogramBuilder builder_;
  size_t size_ = 0;
  GradientSums gpu_sum_;
  std::vector<uint32_t> gpu_rows_;  // settled
  Status status_;
};

}  // namespace strata
