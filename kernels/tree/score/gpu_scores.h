// GpuScores: scores of a data set in the memory of a GPU, beside its bins, kept up with trees.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "kernels/tree/bins/bin_matrix.h"
#include "kernels/tree/grow/grown_tree.h"
#include "kernels/tree/split/feature_shape.h"
#include "strata/status.h"

namespace strata {

// One thread at a time.
class GpuScores {
 public:
  virtual ~GpuScores() = default;
  // Copies the bins; all scores are 0. There are features. kNotFound: no such GPU, or a build
  // without CUDA; kRefused: too little memory.
  static Result<std::unique_ptr<GpuScores>> Open(int device, const BinMatrix& bins,
                                                 std::span<const FeatureShape> shapes,
                                                 size_t classes);
  // Class * rows + row.
  virtual Status Set(std::span<const double> scores) = 0;
  virtual Status Get(std::span<double> scores) const = 0;
  virtual Status AddConstant(size_t k, double value) = 0;
  // Of each row, the value of the leaf that it is in.
  virtual Status AddTree(size_t k, const GrownTree& tree, std::span<const double> values) = 0;
  // In the GPU's memory, where what the calls above have changed is seen by all streams.
  virtual const double* data() const = 0;
};

}  // namespace strata
