// GpuBinForest: the trees of a model of CatBoost in the memory of a GPU, with what makes bins of
// rows. Sums are in double, in the order of the trees: what the CPU predicts, to the bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/thread/work_pool.h"
#include "kernels/tree/score/bin_columns.h"
#include "kernels/tree/score/bin_forest.h"
#include "strata/status.h"

namespace strata {

// Rows to predict for.
struct ColumnRows {
  size_t rows = 0;
  size_t numbers = 0;     // of a row, floats
  size_t categories = 0;  // of a row, hashes of 32 bits
  // Copies `count` rows from one on, column after column: first numbers, then categories. Any
  // number of threads.
  std::function<void(size_t first_row, size_t count, uint32_t* to)> read;
};

// One thread at a time.
class GpuBinForest {
 public:
  virtual ~GpuBinForest() = default;
  // Copies the columns and the forest. kNotFound: no such GPU, or a build without CUDA; kRefused:
  // too little memory.
  static Result<std::unique_ptr<GpuBinForest>> Open(int device, const BinColumnsView& columns,
                                                    const BinForestView& forest);
  // Writes outputs() numbers a row, row by row. Threads of the pool copy rows into pinned memory
  // while others are on their way or predicted for.
  virtual Status Raw(const ColumnRows& rows, WorkPool& pool, std::span<double> out) = 0;
};

}  // namespace strata
