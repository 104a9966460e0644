// LeafRows: the rows of a tree's bag and their gradients, leaf by leaf. A split moves both, so that
// a leaf's gradients are read one after another however scattered its rows are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/large_array.h"
#include "base/thread/work_pool.h"
#include "kernels/tree/bins/bin_matrix.h"
#include "kernels/tree/grow/partition.h"

namespace strata {

// One thread at a time; works on all of the pool's. A leaf is named by its first place and its
// number of rows.
class LeafRows {
 public:
  // The pool outlives it.
  explicit LeafRows(WorkPool& pool) : pool_(pool) {}

  // All rows of the bag, which ascend, as one leaf. `by_row`: of all rows of the data.
  void Start(std::span<const uint32_t> bag, const FixedGradients& by_row);
  // Of all rows, before the first split.
  GradientSums Sum() const;
  // Puts the rows of a leaf in the order of its children; returns how many are left. Rows ascend
  // within each child.
  size_t Split(const BinColumn& column, const SplitSides& sides, size_t begin, size_t count);

  size_t size() const { return stores_[0].rows.size(); }
  std::span<const uint32_t> RowsOf(size_t begin, size_t count) const {
    return std::span(stores_[places_[begin]].rows).subspan(begin, count);
  }
  FixedGradients GradientsOf(size_t begin, size_t count) const {
    const Store& store = stores_[places_[begin]];
    return FixedGradients{store.gradients16, store.gradients32}.Part(begin, count);
  }

  // Once no leaf is split any more: Settle for each, by any number of threads; then all leaves'
  // rows lie one behind the other.
  void Settle(size_t begin, size_t count);
  // Of settled leaves that are to be one again: its rows ascend.
  void Ascend(size_t begin, size_t count);
  std::span<const uint32_t> settled() const { return stores_[0].rows; }

 private:
  // The rows of large leaves move from one store to the other, which saves copying them back.
  struct Store {
    LargeArray<uint32_t> rows;
    LargeArray<uint32_t> gradients16;
    LargeArray<Row32> gradients32;
  };

  template <typename Gradient>
  size_t SplitOf(const BinColumn& column, const SplitSides& sides, OrderedRows<Gradient> leaf,
                 OrderedRows<Gradient> other, bool* moved);

  WorkPool& pool_;
  std::array<Store, 2> stores_;
  std::vector<uint8_t> places_;  // by the first place of a leaf: which store it is in
  std::vector<uint8_t> marks_;
  std::vector<size_t> left_before_;  // of each piece of a leaf
};

}  // namespace strata
