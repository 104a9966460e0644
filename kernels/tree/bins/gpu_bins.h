// GpuBins: training data as bins that a GPU has made from an array of numbers, and keeps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/thread/work_pool.h"
#include "kernels/tree/bins/bin_matrix.h"
#include "kernels/tree/split/feature_shape.h"
#include "strata/status.h"

namespace strata {

// Rows of numbers, one behind the other.
struct NumberArray {
  uint64_t rows = 0;
  uint64_t columns = 0;
  uint64_t value_bytes = 4;  // float; 8: double
  // Copies whole rows from one on; any number of threads.
  std::function<Status(uint64_t first_row, std::span<std::byte> to)> read;

  uint64_t row_bytes() const { return columns * value_bytes; }
};

// How a column's numbers become a feature's bins.
struct ColumnBins {
  uint32_t column = 0;
  // Finite and ascending; a number is in the bin of the first that it does not exceed, or in the
  // one behind them.
  std::span<const double> bounds;
  uint32_t zero_bin = 0;     // of numbers no larger than kZeroSize
  uint32_t missing_bin = 0;  // of NaN

  static constexpr double kZeroSize = 1e-35F;
};

// Immutable; any number of threads.
class GpuBins {
 public:
  virtual ~GpuBins() = default;
  // Makes the bins of all rows on a GPU and copies them into `bins`, whose features have columns
  // and shapes here. kNotFound: no such GPU, or a build without CUDA; kRefused: too little memory.
  static Result<std::shared_ptr<const GpuBins>> Make(int device, const NumberArray& array,
                                                     std::span<const ColumnBins> columns,
                                                     std::span<const FeatureShape> shapes,
                                                     WorkPool& pool, BinMatrix* bins);
  virtual int device() const = 0;
};

}  // namespace strata
