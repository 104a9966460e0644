// SplitBins gives the bits of a model's splits for many rows. Features and statistics become bins
// of a byte, which a split compares with a constant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tree/score/bin_columns.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/catboost_rows.h"
#include "worker/gbdt/catboost/key_index.h"

namespace strata {

inline constexpr size_t kBinsOfColumn = 255;  // borders or values that a byte can tell

// Some rows, one after the other.
struct RowPiece {
  size_t begin = 0;
  size_t count = 0;
};

// Immutable; any number of threads. It does without the model that it is made of.
class SplitBins {
 public:
  explicit SplitBins(const CatBoostModel& model);

  // By the number of a split of the model.
  const BinSplit& split(uint32_t index) const { return splits_[index]; }
  size_t columns() const { return column_count_; }
  // Writes the bytes of each column, column after column: columns() * rows.rows() of them.
  void Fill(const CatBoostRows& rows, std::span<uint8_t> bins) const {
    FillPiece(rows, {.begin = 0, .count = rows.rows()}, bins);
  }
  // The same of some rows alone.
  void FillPiece(const CatBoostRows& rows, const RowPiece& piece, std::span<uint8_t> bins) const;
  // What the columns are made of, good as long as this lives.
  BinColumnsView view() const;

 private:
  void AddNumbers(const CatBoostModel& model);
  void AddCategories(const CatBoostModel& model);
  void AddCtrs(const CatBoostModel& model);
  void AddTable(const CatBoostModel& model, const CtrProjection& projection,
                std::span<const size_t> columns);
  // Adds the columns and the splits of so many borders or values; add(begin, count) for each.
  template <typename Add>
  void AddColumns(size_t count, bool is_exact, const Add& add);
  void FillKeyBins(size_t table, const CatBoostRows& rows, const RowPiece& piece,
                   std::span<uint8_t> bins) const;

  // A column of a statistic: some of its borders.
  struct CtrColumn {
    size_t ctr = 0;
    size_t begin = 0;
    size_t count = 0;
  };

  std::vector<BinSplit> splits_;
  size_t column_count_ = 0;
  // What BinColumnsView has.
  std::vector<BorderColumn> numbers_;
  std::vector<float> borders_;
  std::vector<ValueColumn> categories_;
  std::vector<uint32_t> values_;
  std::vector<KeyTable> tables_;
  std::vector<uint32_t> key_categories_;
  std::vector<BinSplit> key_splits_;
  std::vector<uint64_t> keys_;
  std::vector<uint32_t> key_columns_;
  std::vector<uint8_t> key_bins_;
  std::vector<CtrColumn> ctr_columns_;  // those after the columns of features
  std::vector<KeyIndex> indexes_;       // of the tables' keys
};

}  // namespace strata
