#include "worker/gbdt/grower/leaf_rows.h"

#include <algorithm>
#include <numeric>

namespace strata {
namespace {

constexpr size_t kPieceRows = 1 << 11;  // of a leaf that threads share; a multiple of 8 (MarkLeft)

size_t PiecesOf(size_t rows) { return (rows + kPieceRows - 1) / kPieceRows; }

}  // namespace

void LeafRows::Start(std::span<const uint32_t> bag, const FixedGradients& by_row) {
  const bool wide = by_row.rows16.empty();
  for (Store& store : stores_) {
    store.rows.resize(bag.size());
    store.gradients16.resize(wide ? 0 : bag.size());
    store.gradients32.resize(wide ? bag.size() : 0);
  }
  places_.resize(bag.size() + 1);  // an empty leaf may begin at the end
  places_[0] = 0;
  marks_.resize(bag.size() / 8 + 1);
  Store& to = stores_[0];
  pool_.RunPieces(bag.size(), kPieceRows, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      to.rows[i] = bag[i];
      if (wide) {
        to.gradients32[i] = by_row.rows32[bag[i]];
      } else {
        to.gradients16[i] = by_row.rows16[bag[i]];
      }
    }
  });
}

GradientSums LeafRows::Sum() const {
  const FixedGradients gradients = GradientsOf(0, size());
  std::vector<GradientSums> parts(PiecesOf(size()));
  pool_.RunPieces(size(), kPieceRows, [&](size_t begin, size_t end) {
    GradientSums sum;
    for (size_t i = begin; i < end; ++i) {
      sum += gradients.Row(i);
    }
    parts[begin / kPieceRows] = sum;
  });
  return std::accumulate(parts.begin(), parts.end(), GradientSums{},
                         [](GradientSums a, const GradientSums& b) { return a += b; });
}

size_t LeafRows::Split(const BinColumn& column, const SplitSides& sides, size_t begin,
                       size_t count) {
  const uint8_t place = places_[begin];
  Store& from = stores_[place];
  Store& to = stores_[1 - place];
  const auto part = [&](auto& rows, auto& gradients) {
    return OrderedRows<typename std::decay_t<decltype(gradients)>::value_type>{rows, gradients}
        .Part(begin, count);
  };
  bool moved = false;
  const size_t left = from.gradients32.empty()
                          ? SplitOf(column, sides, part(from.rows, from.gradients16),
                                    part(to.rows, to.gradients16), &moved)
                          : SplitOf(column, sides, part(from.rows, from.gradients32),
                                    part(to.rows, to.gradients32), &moved);
  const auto now = static_cast<uint8_t>(moved ? 1 - place : place);
  places_[begin] = now;
  if (left < count) places_[begin + left] = now;
  return left;
}

// A small leaf in its place by this thread, a large one to the other store by all.
template <typename Gradient>
size_t LeafRows::SplitOf(const BinColumn& column, const SplitSides& sides,
                         OrderedRows<Gradient> leaf, OrderedRows<Gradient> other, bool* moved) {
  if (leaf.size() <= kPieceRows) return PartitionRows(column, sides, leaf, other);
  *moved = true;
  const auto marks_of = [&](size_t begin, size_t end) {
    return std::span(marks_).subspan(begin / 8, (end - begin + 7) / 8);
  };
  left_before_.assign(PiecesOf(leaf.size()) + 1, 0);
  pool_.RunPieces(leaf.size(), kPieceRows, [&](size_t begin, size_t end) {
    left_before_[begin / kPieceRows + 1] =
        MarkLeft(column, sides, leaf.rows.subspan(begin, end - begin), marks_of(begin, end));
  });
  std::partial_sum(left_before_.begin(), left_before_.end(), left_before_.begin());
  const size_t left = left_before_.back();
  pool_.RunPieces(leaf.size(), kPieceRows, [&](size_t begin, size_t end) {
    const size_t before = left_before_[begin / kPieceRows];
    const size_t lefts = left_before_[begin / kPieceRows + 1] - before;
    DistributeRows(leaf.Part(begin, end - begin), marks_of(begin, end), other.Part(before, lefts),
                   other.Part(left + begin - before, end - begin - lefts));
  });
  return left;
}

void LeafRows::Settle(size_t begin, size_t count) {
  if (count == 0 || places_[begin] == 0) return;
  std::copy_n(stores_[1].rows.begin() + static_cast<ptrdiff_t>(begin), count,
              stores_[0].rows.begin() + static_cast<ptrdiff_t>(begin));
}

void LeafRows::Ascend(size_t begin, size_t count) {
  const auto first = stores_[0].rows.begin() + static_cast<ptrdiff_t>(begin);
  std::sort(first, first + static_cast<ptrdiff_t>(count));
}

}  // namespace strata
