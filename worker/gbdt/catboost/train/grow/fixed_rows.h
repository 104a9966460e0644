// FixedRows: the gradients and weights that a tree is grown from, as integers, so that their sums
// do not depend on an order.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/large_array.h"
#include "base/thread/work_pool.h"
#include "kernels/tree/gradient/fixed_point.h"
#include "kernels/tree/oblivious/row_rounding.h"

namespace strata {

// Weights that are all 0 or the same are 0 and 1 units.
WeightUnit FindWeightUnit(std::span<const double> weights, WorkPool& pool);

class FixedRows {
 public:
  // Rounds gradients, output after output with all rows each, and the rows' weights, which are not
  // negative, to 30 bits of the largest one. Weights that are all 0 or the same become 0 and 1.
  // What is not finite counts as 0.
  void Round(std::span<const double> gradients, std::span<const double> weights, WorkPool& pool);

  size_t rows() const { return rows_; }
  size_t outputs() const { return units_.size(); }
  // Of each row, where the hessian is the weight.
  std::span<const Row32> of(size_t output) const {
    return std::span(fixed_).subspan(output * rows_, rows_);
  }
  // Of all outputs, one after another.
  std::span<const Row32> all() const { return fixed_; }
  std::span<const GradientUnits> all_units() const { return units_; }
  // Whether weights are 0 and 1.
  bool has_unit_weights() const { return has_unit_weights_; }
  const GradientUnits& units(size_t output) const { return units_[output]; }

 private:
  size_t rows_ = 0;
  bool has_unit_weights_ = false;
  LargeArray<Row32> fixed_;
  std::vector<GradientUnits> units_;
};

}  // namespace strata
