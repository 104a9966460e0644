// LeafRows: the rows of a tree's bag and their gradients, leaf by leaf. A split moves both, so that
// a leaf's gradients are read one after another however scattered its rows are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/work_pool.h"
#include "kernels/tree/bin_matrix.h"
#include "kernels/tree/partition.h"

namespace strata {

// One thread at a time; works on all of the pool's.
class LeafRows {
 public:
  // The pool outlives it.
  explicit LeafRows(WorkPool& pool) : pool_(pool) {}

  // All rows of the bag, which ascend, as one leaf. `by_row`: of all rows of the data.
  void Start(std::span<const uint32_t> bag, const FixedGradients& by_row);
  // Of all rows.
  GradientSums Sum() const;
  // Puts rows [begin, begin + count), a leaf, in the order of its children; returns how many are
  // left. Rows ascend within each child.
  size_t Split(const BinColumn& column, const SplitSides& sides, size_t begin, size_t count);

  std::span<const uint32_t> rows() const { return rows_; }
  FixedGradients gradients() const { return {gradients16_, gradients32_}; }

 private:
  template <typename Gradient>
  size_t SplitOf(const BinColumn& column, const SplitSides& sides, OrderedRows<Gradient> leaf,
                 OrderedRows<Gradient> spare);

  WorkPool& pool_;
  std::vector<uint32_t> rows_;
  std::vector<uint32_t> gradients16_;
  std::vector<Row32> gradients32_;
  std::vector<uint32_t> spare_rows_;
  std::vector<uint32_t> spare16_;
  std::vector<Row32> spare32_;
};

}  // namespace strata
