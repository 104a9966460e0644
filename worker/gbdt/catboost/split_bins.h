// SplitBins gives the bits of a model's splits for many rows. Features and statistics become bins
// of a byte, which a split compares with a constant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/catboost_rows.h"
#include "worker/gbdt/catboost/key_index.h"

namespace strata {

// A split's bit of a row is (bin ^ mask) >= least, where bin is the row's byte of the column.
struct BinSplit {
  uint32_t column = 0;
  uint8_t mask = 0;
  uint8_t least = 0;

  bool Of(uint8_t bin) const { return static_cast<uint8_t>(bin ^ mask) >= least; }
};

// Immutable; any number of threads.
class SplitBins {
 public:
  // The model outlives it.
  explicit SplitBins(const CatBoostModel& model);

  // By the number of a split of the model.
  const BinSplit& split(uint32_t index) const { return splits_[index]; }
  size_t columns() const { return columns_.size(); }
  // Writes the bytes of each column, column after column: columns() * rows.rows() of them.
  void Fill(const CatBoostRows& rows, std::span<uint8_t> bins) const;

 private:
  // Some borders or values of a number, category or ctr. A number's bin counts the borders that it
  // is above; a category's is the place of its value and one, or 0.
  struct Column {
    SplitKind kind = SplitKind::kNumber;
    size_t of = 0;
    size_t begin = 0;
    size_t count = 0;
  };

  void AddColumns(SplitKind kind, size_t of, size_t count);
  void FillNumbers(const Column& column, std::span<const float> values,
                   std::span<uint8_t> bins) const;
  void FillCtrs(size_t table, const CatBoostRows& rows, std::span<uint8_t> bins) const;
  std::span<const float> BordersOf(const Column& column) const;
  void Keys(const CtrProjection& projection, const CatBoostRows& rows,
            std::span<const uint8_t> bins, std::span<uint64_t> keys) const;

  const CatBoostModel& model_;
  std::vector<Column> columns_;
  size_t feature_columns_ = 0;  // those before the columns of ctrs
  std::vector<BinSplit> splits_;
  std::vector<KeyIndex> indexes_;  // of the model's tables
  std::vector<std::vector<size_t>> columns_of_table_;
};

}  // namespace strata
