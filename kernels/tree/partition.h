// Partition: a leaf's rows into those of its two children, each side in the old order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tree/bin_matrix.h"
#include "kernels/tree/split_search.h"

namespace strata {

// For each bin of a feature whether its rows go left.
class SplitSides {
 public:
  SplitSides(const FeatureShape& shape, const Split& split);
  bool IsLeft(uint32_t bin) const { return left_[bin] != 0; }

 private:
  std::vector<uint8_t> left_;
};

// Moves rows that go left to the front of `rows`, the others behind them, both in their order;
// returns how many are left. `spare` is as long and is overwritten. One thread.
size_t PartitionRows(const BinColumn& column, const SplitSides& sides, std::span<uint32_t> rows,
                     std::span<uint32_t> spare);

}  // namespace strata
