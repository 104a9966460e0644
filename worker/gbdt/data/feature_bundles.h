// Which features share a column: exclusive feature bundling, by LightGBM's greedy rule (its
// dataset.cpp), but without conflicts, so that nothing is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tree/bins/bin_matrix.h"
#include "kernels/tree/split/feature_shape.h"

namespace strata {

// In which rows of a sample a feature is not 0.
class NonZeroRows {
 public:
  // Ascending. Those of a feature that is mostly not 0, which could hardly share a column, are
  // forgotten soon: there may be thousands of such features.
  void Add(uint32_t row) {
    if (is_dense_) return;
    rows_.push_back(row);
    if (rows_.size() <= kFew + row / 2) return;
    is_dense_ = true;
    rows_ = {};
  }
  bool is_dense() const { return is_dense_; }
  std::span<const uint32_t> rows() const { return rows_; }

 private:
  static constexpr size_t kFew = 1000;

  std::vector<uint32_t> rows_;
  bool is_dense_ = false;
};

// The features of each column, each feature in one of them: bundles of those that in no row of the
// sample differ from 0 together, with 256 values at most.
std::vector<std::vector<uint32_t>> FindBundles(std::span<const FeatureShape> shapes,
                                               std::span<const NonZeroRows> non_zero,
                                               size_t sampled);

}  // namespace strata
