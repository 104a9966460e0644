// BoundGrid: which of a feature's bounds is the first that a value does not exceed, by a grid over
// the values instead of a search from the middle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata {

// Immutable; any number of threads. Exact whatever the values: a cell's number never falls when the
// value rises, so that bounds of lower cells are below a value and bounds of higher cells above it.
// Within a cell the bounds are searched.
class BoundGrid {
 public:
  BoundGrid() = default;
  // Finite, ascending bounds; the same are given to FirstNotBelow.
  explicit BoundGrid(std::span<const double> bounds) {
    if (bounds.size() < 2) {
      cells_.assign(2, 0);
      cells_.back() = static_cast<uint32_t>(bounds.size());
      return;
    }
    const double range = bounds.back() - bounds.front();
    const size_t cells = std::clamp(bounds.size() * kCellsPerBound, size_t{1}, kCellsMax);
    begin_ = bounds.front();
    // Bounds that are too far apart or too near each other share one cell.
    scale_ = static_cast<double>(cells) / range;
    if (!(scale_ > 0) || !(scale_ < kScaleMax)) scale_ = 0;
    last_cell_ = static_cast<double>(cells - 1);
    cells_.assign(cells + 1, 0);
    for (const double bound : bounds) ++cells_[CellOf(bound) + 1];
    for (size_t cell = 0; cell < cells; ++cell) cells_[cell + 1] += cells_[cell];
  }

  // The number of bounds below the value, which is no NaN.
  uint32_t FirstNotBelow(double value, const double* bounds) const {
    const size_t cell = CellOf(value);
    uint32_t first = cells_[cell];
    uint32_t left = cells_[cell + 1] - first;
    while (left > 0) {  // without branches, as bounds are looked for all the time
      const uint32_t half = left / 2;
      const bool above = value > bounds[first + half];
      first = above ? first + half + 1 : first;
      left = above ? left - half - 1 : half;
    }
    return first;
  }

 private:
  static constexpr size_t kCellsPerBound = 4;
  static constexpr size_t kCellsMax = 4096;
  static constexpr double kScaleMax = 1e300;

  size_t CellOf(double value) const {
    const double place = (value - begin_) * scale_;
    if (!(place > 0)) return 0;
    return place < last_cell_ ? static_cast<size_t>(place) : static_cast<size_t>(last_cell_);
  }

  double begin_ = 0;
  double scale_ = 0;
  double last_cell_ = 0;
  std::vector<uint32_t> cells_;  // of each cell its first bound; then how many there are
};

}  // namespace strata
