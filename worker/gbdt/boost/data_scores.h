// DataScores: the raw scores of one data set, kept up with a model's trees.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/large_array.h"
#include "base/thread/work_pool.h"
#include "kernels/tree/grow/grown_tree.h"
#include "kernels/tree/score/gpu_scores.h"
#include "strata/status.h"
#include "worker/gbdt/data/tree_dataset.h"

namespace strata {

// One thread at a time; works on all of the pool's.
class DataScores {
 public:
  // Both outlive it. Scores begin with the data's own, or with 0.
  DataScores(const TreeDataset& data, size_t classes, WorkPool& pool);

  const TreeDataset& data() const { return data_; }
  // From now on they are on a GPU. kRefused: as GpuScores; they stay here then.
  Status MoveToGpu(int device);
  const GpuScores* on_gpu() const { return gpu_.get(); }
  // Whichever they are on; `made` holds those of a GPU.
  Result<std::span<const double>> Fetch(std::vector<double>* made) const;

  // Here: class * rows + row.
  std::span<const double> all() const { return scores_; }
  std::span<const double> OfClass(size_t k) const {
    return std::span(scores_).subspan(k * data_.rows(), data_.rows());
  }

  // These fail on a GPU alone.
  Status AddConstant(size_t k, double value);
  // Of each row, the value of the leaf that it is in.
  Status AddTree(size_t k, const GrownTree& tree, std::span<const double> leaf_values);
  // The same, here, for a tree that was grown with all of this data's rows and still knows them.
  void AddGrown(size_t k, const GrownTree& tree, std::span<const double> leaf_values);

 private:
  std::span<double> MutableOfClass(size_t k) {
    return std::span(scores_).subspan(k * data_.rows(), data_.rows());
  }

  const TreeDataset& data_;
  WorkPool& pool_;
  LargeArray<double> scores_;
  std::unique_ptr<GpuScores> gpu_;
};

}  // namespace strata
