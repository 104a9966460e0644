#include "kernels/tree/partition.h"

#include <algorithm>

namespace strata {
namespace {

// Both places are written, one is kept: no branch that the processor would have to guess.
template <typename Bin, typename Gradient>
size_t Partition(const Bin* bins, const SplitSides& sides, OrderedRows<Gradient> leaf,
                 OrderedRows<Gradient> spare) {
  const uint8_t* const is_left = sides.left().data();
  uint32_t* const rows = leaf.rows.data();
  Gradient* const gradients = leaf.gradients.data();
  uint32_t* const spare_rows = spare.rows.data();
  Gradient* const spare_gradients = spare.gradients.data();
  size_t left = 0;
  size_t right = 0;
  for (size_t i = 0; i < leaf.size(); ++i) {
    const uint32_t row = rows[i];
    const Gradient gradient = gradients[i];
    const size_t goes_left = is_left[bins[row]];
    rows[left] = row;
    gradients[left] = gradient;
    spare_rows[right] = row;
    spare_gradients[right] = gradient;
    left += goes_left;
    right += 1 - goes_left;
  }
  std::copy_n(spare_rows, right, rows + left);
  std::copy_n(spare_gradients, right, gradients + left);
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

template <typename Gradient>
size_t PartitionRows(const BinColumn& column, const SplitSides& sides, OrderedRows<Gradient> leaf,
                     OrderedRows<Gradient> spare) {
  if (column.narrow.empty()) return Partition(column.wide.data(), sides, leaf, spare);
  return Partition(column.narrow.data(), sides, leaf, spare);
}

template size_t PartitionRows(const BinColumn&, const SplitSides&, OrderedRows<uint32_t>,
                              OrderedRows<uint32_t>);
template size_t PartitionRows(const BinColumn&, const SplitSides&, OrderedRows<Row32>,
                              OrderedRows<Row32>);

}  // namespace strata
