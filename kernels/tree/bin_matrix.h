// BinMatrix: the training data as bins, twice: rows of a few features each, for histograms, and
// columns, for partitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/large_array.h"
#include "kernels/tree/fixed_point.h"

namespace strata {

// Features whose bins lie side by side, row after row, so that a row of a leaf costs one or two
// cache lines however its features are many.
struct BinBlock {
  static constexpr size_t kFeaturesMax = 32;
  size_t first_feature = 0;
  size_t features = 0;
  size_t stride = 0;  // bins from one row to the next: a power of two, no row is on two lines
  LargeArray<uint8_t> narrow;  // rows x stride, where no feature has more than 256 bins
  LargeArray<uint16_t> wide;   // likewise, otherwise

  bool is_wide() const { return !wide.empty(); }
  size_t end_feature() const { return first_feature + features; }
};

// One feature's bins, row after row.
struct BinColumn {
  LargeArray<uint8_t> narrow;
  LargeArray<uint16_t> wide;

  uint32_t At(size_t row) const { return narrow.empty() ? wide[row] : narrow[row]; }
};

// Read by any number of threads; filled by one, or by several for different rows.
class BinMatrix {
 public:
  BinMatrix() = default;
  // `bins[f]`, 1 to 65,536, is how many bins feature f has. All rows are in bin 0. A block has
  // `block_features` features at most.
  BinMatrix(size_t rows, std::span<const uint32_t> bins,
            size_t block_features = BinBlock::kFeaturesMax);

  // The bins of all features of a row.
  void SetRow(size_t row, std::span<const uint32_t> bins);

  size_t rows() const { return rows_; }
  size_t features() const { return bins_.size(); }
  uint32_t bins(size_t feature) const { return bins_[feature]; }
  // Where a feature's bins begin in a histogram of all features, and that one's length.
  size_t histogram_begin(size_t feature) const { return begins_[feature]; }
  size_t histogram_bins() const { return begins_.back(); }
  std::span<const BinBlock> blocks() const { return blocks_; }
  const BinColumn& column(size_t feature) const { return columns_[feature]; }

 private:
  size_t rows_ = 0;
  std::vector<uint32_t> bins_;
  std::vector<size_t> begins_ = {0};
  std::vector<BinBlock> blocks_;
  std::vector<BinColumn> columns_;
};

}  // namespace strata
