// TreeGrower: grows oblivious trees, on the CPU or on a GPU.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/thread/work_pool.h"
#include "kernels/core/device_choice.h"
#include "kernels/tree/oblivious/grow_column.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/train/grow/oblivious_grower.h"

namespace strata {

class GpuGrower;

// Called as ObliviousGrower is, whose trees it grows, to the bit on any device. One thread at a
// time. A GPU fails with kRefused where it has too little memory.
class TreeGrower {
 public:
  virtual ~TreeGrower() = default;
  // For trees of so many rows. The pool outlives it. kNotFound: no such GPU, or a build without
  // CUDA.
  static Result<std::unique_ptr<TreeGrower>> Make(const DeviceChoice& device, size_t rows,
                                                  const ScoreRule& rule, WorkPool& pool);

  virtual Status Begin(std::span<const double> gradients, std::span<const double> weights) = 0;
  virtual Status AddColumns(std::span<const GrowColumn> columns) = 0;
  virtual Status AddFixedColumns(std::span<const GrowColumn> columns) = 0;
  virtual Status SetGradients(std::span<const double> gradients,
                              std::span<const double> weights) = 0;
  // Not null; it holds until the next call.
  virtual Result<const LevelScores*> Score() = 0;
  virtual Result<bool> Split(const GrowSplit& split) = 0;
  virtual size_t levels() const = 0;
  virtual Result<GrownObliviousTree> Take() = 0;
  // What grows trees on a GPU; null: the CPU does.
  virtual GpuGrower* gpu() { return nullptr; }
};

}  // namespace strata
