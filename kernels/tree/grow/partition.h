// Partition: a leaf's rows into those of its two children, each side in the old order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/tree/bins/bin_matrix.h"
#include "kernels/tree/split/split_search.h"

namespace strata {

// For each bin of a feature whether its rows go left.
class SplitSides {
 public:
  SplitSides(const FeatureShape& shape, const Split& split);
  bool IsLeft(uint32_t bin) const { return left_[bin] != 0; }
  // The same for each value of the feature's column in `bins`.
  SplitSides OfColumn(const BinMatrix& bins, size_t feature) const;
  // 1 or 0 for each bin.
  std::span<const uint8_t> left() const { return left_; }

 private:
  explicit SplitSides(std::vector<uint8_t> left) : left_(std::move(left)) {}

  std::vector<uint8_t> left_;
};

// Rows and their gradients, in one order.
template <typename Gradient>
struct OrderedRows {
  std::span<uint32_t> rows;
  std::span<Gradient> gradients;

  OrderedRows Part(size_t begin, size_t count) const {
    return {rows.subspan(begin, count), gradients.subspan(begin, count)};
  }
  size_t size() const { return rows.size(); }
};

// Writes a bit for each row, 1 if it goes left: bit i % 8 of marks[i / 8]; returns how many do.
size_t MarkLeft(const BinColumn& column, const SplitSides& sides, std::span<const uint32_t> rows,
                std::span<uint8_t> marks);

// Writes marked rows to `left`, the others to `right`, which are as long as there are such rows.
// `left` may begin where `leaf` does, or before. Gradient: uint32_t (PackRow16) or Row32.
template <typename Gradient>
void DistributeRows(OrderedRows<Gradient> leaf, std::span<const uint8_t> marks,
                    OrderedRows<Gradient> left, OrderedRows<Gradient> right);

// Moves rows that go left to the front of `leaf`, the others behind them; returns how many are
// left. `spare` is as long and is overwritten. One thread.
template <typename Gradient>
size_t PartitionRows(const BinColumn& column, const SplitSides& sides, OrderedRows<Gradient> leaf,
                     OrderedRows<Gradient> spare);

}  // namespace strata
