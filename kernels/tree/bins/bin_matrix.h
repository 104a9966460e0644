// BinMatrix: the training data as bins, twice: rows of a few columns each, for histograms, and
// columns, for partitions. A column is one feature's, or that of a bundle of features.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/large_array.h"
#include "kernels/tree/gradient/fixed_point.h"

namespace strata {

// Columns whose values lie side by side, row after row, so that a row of a leaf costs one or two
// cache lines however its features are many.
struct BinBlock {
  static constexpr size_t kColumnsMax = 32;
  size_t first_column = 0;
  size_t columns = 0;
  size_t stride = 0;  // values from one row to the next: a power of two, no row is on two lines
  LargeArray<uint8_t> narrow;  // rows x stride, where no column has more than 256 values
  LargeArray<uint16_t> wide;   // likewise, otherwise

  bool is_wide() const { return !wide.empty(); }
  size_t end_column() const { return first_column + columns; }
};

// One column's values, row after row.
struct BinColumn {
  LargeArray<uint8_t> narrow;
  LargeArray<uint16_t> wide;

  uint32_t At(size_t row) const { return narrow.empty() ? wide[row] : narrow[row]; }
};

// Which features share a column, as in no row more than one of them is out of its default bin
// (exclusive feature bundling: G. Ke et al., "LightGBM: a highly efficient gradient boosting
// decision tree", NIPS 2017).
struct BinBundles {
  // The features of each column; every feature is in one. Empty: each has a column of its own.
  std::vector<std::vector<uint32_t>> columns;
  std::vector<uint32_t> default_bins;  // of each feature: where most rows are

  // How many values a column of these features has.
  static size_t ValuesOf(std::span<const uint32_t> features, std::span<const uint32_t> bins);
};

// Where a feature's bins are in its column.
struct BinPlace {
  uint32_t column = 0;
  // 0: the column is the feature's alone, values are bins. Else 0 stands for the default bins of
  // all features of the column, and the other bins of this one follow each other from here.
  uint32_t first_value = 0;
  uint32_t default_bin = 0;
  uint32_t bins = 1;

  uint32_t BinOf(uint32_t value) const {
    if (first_value == 0) return value;
    const uint32_t bin = value - first_value;
    if (value < first_value || bin + 1 >= bins) return default_bin;
    return bin + (bin >= default_bin ? 1 : 0);
  }
  uint32_t ValueOf(uint32_t bin) const {
    if (first_value == 0) return bin;
    return bin == default_bin ? 0 : first_value + bin - (bin > default_bin ? 1 : 0);
  }
};

// Read by any number of threads; filled by one, or by several for different rows.
class BinMatrix {
 public:
  BinMatrix() = default;
  // `bins[f]`, 1 to 65,536, is how many bins feature f has. Each feature has a column of its own.
  // All rows are in bin 0. A block has at most `block_columns` columns.
  BinMatrix(size_t rows, std::span<const uint32_t> bins,
            size_t block_columns = BinBlock::kColumnsMax);
  // Features share columns; those that do have at most 256 values. Each row is to be set.
  BinMatrix(size_t rows, std::span<const uint32_t> bins, const BinBundles& bundles,
            size_t block_columns = BinBlock::kColumnsMax);

  // A row's value of each column, in the order of the columns, as BinRow makes them.
  void SetRow(size_t row, std::span<const uint32_t> values);
  // For those who fill a whole block or column at once, and its copy in the other place as well.
  std::span<std::byte> BytesOfBlock(size_t block);
  std::span<std::byte> BytesOfColumn(size_t column);

  size_t rows() const { return rows_; }
  size_t features() const { return bins_.size(); }
  size_t columns() const { return columns_.size(); }
  bool has_bundles() const { return columns() < features(); }
  uint32_t bins(size_t feature) const { return bins_[feature]; }
  // Where a feature's bins begin in a histogram of all features, and that one's length.
  size_t histogram_begin(size_t feature) const { return begins_[feature]; }
  size_t histogram_bins() const { return begins_.back(); }
  std::span<const BinBlock> blocks() const { return blocks_; }
  size_t block_of(size_t feature) const { return block_of_column_[places_[feature].column]; }

  const BinPlace& place(size_t feature) const { return places_[feature]; }
  uint32_t BinAt(size_t feature, size_t row) const {
    return places_[feature].BinOf(column(feature).At(row));
  }
  // The column that a feature is in.
  const BinColumn& column(size_t feature) const { return columns_[places_[feature].column]; }
  // Of one of columns(): what it holds, its features, how many values it has.
  const BinColumn& column_at(size_t column) const { return columns_[column]; }
  std::span<const uint32_t> features_of(size_t column) const { return features_of_[column]; }
  size_t values_of(size_t column) const { return values_[column]; }

  // The same with a column for each feature.
  BinMatrix WithoutBundles() const;

 private:
  void MakeBlocks(size_t block_columns);

  size_t rows_ = 0;
  std::vector<uint32_t> bins_;
  std::vector<size_t> begins_ = {0};
  std::vector<BinPlace> places_;                    // of each feature
  std::vector<std::vector<uint32_t>> features_of_;  // of each column
  std::vector<size_t> values_;                      // likewise
  std::vector<size_t> block_of_column_;
  std::vector<BinBlock> blocks_;
  std::vector<BinColumn> columns_;
};

// The values of one row's columns, put together feature by feature. One thread.
class BinRow {
 public:
  // The matrix outlives it, and keeps its columns. All features are in their default bins.
  explicit BinRow(const BinMatrix& bins);

  // Begins another row.
  void Clear();
  // Sets one feature's bin, once a row. False: another feature of its column is out of its default
  // bin in this row, and nothing changes.
  bool Put(size_t feature, uint32_t bin);
  std::span<const uint32_t> values() const { return values_; }

 private:
  const BinMatrix& bins_;
  std::vector<uint32_t> defaults_;  // of each column
  std::vector<uint32_t> values_;
};

}  // namespace strata
