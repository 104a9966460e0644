#include "kernels/tree/partition.h"

#include <algorithm>

namespace strata {
namespace {

// Both places are written, one is kept: no branch that the processor would have to guess.
template <typename Bin>
size_t Partition(const Bin* bins, const SplitSides& sides, std::span<uint32_t> rows,
                 std::span<uint32_t> spare) {
  size_t left = 0;
  size_t right = 0;
  for (const uint32_t row : rows) {
    const bool goes_left = sides.IsLeft(bins[row]);
    rows[left] = row;
    spare[right] = row;
    left += goes_left ? 1 : 0;
    right += goes_left ? 0 : 1;
  }
  std::copy_n(spare.begin(), right, rows.begin() + static_cast<ptrdiff_t>(left));
  return left;
}

}  // namespace

SplitSides::SplitSides(const FeatureShape& shape, const Split& split) : left_(shape.bins, 0) {
  if (split.categorical) {
    for (const uint32_t bin : split.left_bins) left_[bin] = 1;
    return;
  }
  for (uint32_t bin = 0; bin < shape.bins && bin <= split.threshold; ++bin) left_[bin] = 1;
  if (shape.missing == MissingKind::kNaN) left_[shape.bins - 1] = split.default_left ? 1 : 0;
  if (shape.missing == MissingKind::kZero) left_[shape.default_bin] = split.default_left ? 1 : 0;
}

size_t PartitionRows(const BinColumn& column, const SplitSides& sides, std::span<uint32_t> rows,
                     std::span<uint32_t> spare) {
  if (column.narrow.empty()) return Partition(column.wide.data(), sides, rows, spare);
  return Partition(column.narrow.data(), sides, rows, spare);
}

}  // namespace strata
