#include "worker/gbdt/grower/leaf_rows.h"

#include <algorithm>
#include <numeric>

namespace strata {
namespace {

constexpr size_t kPieceRows = 1 << 13;  // of a leaf that threads share

size_t PiecesOf(size_t rows) { return (rows + kPieceRows - 1) / kPieceRows; }

template <typename T>
void Copy(std::span<const T> from, std::span<T> to) {
  std::copy(from.begin(), from.end(), to.begin());
}

}  // namespace

void LeafRows::Start(std::span<const uint32_t> bag, const FixedGradients& by_row) {
  const bool wide = by_row.rows16.empty();
  rows_.resize(bag.size());
  spare_rows_.resize(bag.size());
  gradients16_.resize(wide ? 0 : bag.size());
  spare16_.resize(gradients16_.size());
  gradients32_.resize(wide ? bag.size() : 0);
  spare32_.resize(gradients32_.size());
  pool_.RunPieces(bag.size(), kPieceRows, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      rows_[i] = bag[i];
      if (wide) {
        gradients32_[i] = by_row.rows32[bag[i]];
      } else {
        gradients16_[i] = by_row.rows16[bag[i]];
      }
    }
  });
}

GradientSums LeafRows::Sum() const {
  std::vector<GradientSums> parts(PiecesOf(rows_.size()));
  pool_.RunPieces(rows_.size(), kPieceRows, [&](size_t begin, size_t end) {
    GradientSums sum;
    for (size_t i = begin; i < end; ++i) {
      if (gradients32_.empty()) {
        const uint64_t row = WidenRow16(gradients16_[i]);
        sum += {GradientOf(row), HessianOf(row)};
      } else {
        sum += {gradients32_[i].gradient, gradients32_[i].hessian};
      }
    }
    parts[begin / kPieceRows] = sum;
  });
  return std::accumulate(parts.begin(), parts.end(), GradientSums{},
                         [](GradientSums a, const GradientSums& b) { return a += b; });
}

size_t LeafRows::Split(const BinColumn& column, const SplitSides& sides, size_t begin,
                       size_t count) {
  const auto part = [&](auto& rows, auto& gradients) {
    return OrderedRows<typename std::decay_t<decltype(gradients)>::value_type>{rows, gradients}
        .Part(begin, count);
  };
  if (gradients32_.empty()) {
    return SplitOf(column, sides, part(rows_, gradients16_), part(spare_rows_, spare16_));
  }
  return SplitOf(column, sides, part(rows_, gradients32_), part(spare_rows_, spare32_));
}

// Each piece by itself; then the left sides of all, and the right sides behind them.
template <typename Gradient>
size_t LeafRows::SplitOf(const BinColumn& column, const SplitSides& sides,
                         OrderedRows<Gradient> leaf, OrderedRows<Gradient> spare) {
  if (leaf.size() <= kPieceRows) return PartitionRows(column, sides, leaf, spare);
  std::vector<size_t> left_before(PiecesOf(leaf.size()) + 1, 0);
  pool_.RunPieces(leaf.size(), kPieceRows, [&](size_t begin, size_t end) {
    left_before[begin / kPieceRows + 1] =
        PartitionRows(column, sides, leaf.Part(begin, end - begin), spare.Part(begin, end - begin));
  });
  std::partial_sum(left_before.begin(), left_before.end(), left_before.begin());
  const size_t left = left_before.back();
  pool_.RunPieces(leaf.size(), kPieceRows, [&](size_t begin, size_t end) {
    const size_t before = left_before[begin / kPieceRows];
    const size_t mine = left_before[begin / kPieceRows + 1] - before;
    const auto move = [&](auto from, auto to) {
      std::copy_n(from.begin() + static_cast<ptrdiff_t>(begin), mine,
                  to.begin() + static_cast<ptrdiff_t>(before));
      std::copy(from.begin() + static_cast<ptrdiff_t>(begin + mine),
                from.begin() + static_cast<ptrdiff_t>(end),
                to.begin() + static_cast<ptrdiff_t>(left + begin - before));
    };
    move(leaf.rows, spare.rows);
    move(leaf.gradients, spare.gradients);
  });
  pool_.RunPieces(leaf.size(), kPieceRows, [&](size_t begin, size_t end) {
    Copy<uint32_t>(spare.rows.subspan(begin, end - begin), leaf.rows.subspan(begin, end - begin));
    Copy<Gradient>(spare.gradients.subspan(begin, end - begin),
                   leaf.gradients.subspan(begin, end - begin));
  });
  return left;
}

}  // namespace strata
