// RowSampler: which rows a round's trees learn from, and how much each counts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/tree/grow/gpu_trees.h"
#include "strata/status.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/parameters/boosting_parameters.h"

namespace strata {

// A choice depends on the seed, the round, the row and its gradients alone: not on threads, nor on
// what was sampled before. One thread at a time; works on all of the pool's.
class RowSampler {
 public:
  virtual ~RowSampler() = default;
  // Puts the round's rows, ascending, into `rows`, which holds those of the last call (all rows
  // before the first). Gradients and hessians, class * rows + row, are multiplied in place where
  // rows that are there stand for others that are not.
  virtual void Sample(uint64_t round, WorkPool& pool, std::span<float> gradients,
                      std::span<float> hessians, std::vector<uint32_t>* rows) = 0;
  // The same for a GPU that has the gradients.
  virtual GpuSample OnGpu(uint64_t round) const = 0;
};

// Of the data, which outlives it. kInvalid: a choice by class or query of data that has none.
Result<std::unique_ptr<RowSampler>> MakeRowSampler(const BoostingParameters& parameters,
                                                   const TreeDataset& data);

}  // namespace strata
