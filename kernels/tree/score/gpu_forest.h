// GpuForest: a model's trees in the memory of a GPU, which predicts for many rows. Scores are sums
// in the order of the trees, in double: what the CPU predicts, to the bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/thread/work_pool.h"
#include "kernels/tree/bins/gpu_bins.h"
#include "kernels/tree/score/forest.h"
#include "strata/status.h"

namespace strata {

// Rows to predict for.
struct ForestRows {
  NumberArray numbers;
  // Of each column of the forest, the column of the array that holds its feature; ~0U: none, all 0.
  std::span<const uint32_t> from;
  // Numbers no larger than kZeroThreshold are 0, whatever a node's threshold.
  bool small_is_zero = false;
};

// One thread at a time.
class GpuForest {
 public:
  virtual ~GpuForest() = default;
  // Copies the forest, which has so many classes. kNotFound: no such GPU, or a build without CUDA;
  // kRefused: too little memory.
  static Result<std::unique_ptr<GpuForest>> Open(int device, const ForestView& forest,
                                                 size_t classes);
  // classes scores a row, row by row. Threads of the pool copy rows into pinned memory while others
  // are on their way or predicted for. Errors of reading the array are returned.
  virtual Status Scores(const ForestRows& rows, const PredictionStop& stop, WorkPool& pool,
                        std::span<double> scores) = 0;
  // Of each row, for each tree, the number of the leaf that it reaches.
  virtual Status Leaves(const ForestRows& rows, WorkPool& pool, std::span<double> leaves) = 0;
};

}  // namespace strata
