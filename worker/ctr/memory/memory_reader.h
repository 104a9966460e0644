// MemoryReader: the rows of ClickRows, as training and prediction read them.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/click_model.h"
#include "worker/data/batch/row_reader.h"

namespace strata {

// The rows outlive the reader.
class MemoryReader : public RowReader {
 public:
  // kInvalid names the column, label or weight that does not fit. Texts that should be numbers are
  // found by Next. Labels are 0 or 1, or with `label_is_number` any finite number.
  static Result<MemoryReader> Make(const ClickRows& rows, std::span<const FeatureSpec> features,
                                   bool needs_labels, bool label_is_number = false);

  size_t rows() const { return rows_; }

  // kInvalid names the row and the column whose value cannot be.
  Result<bool> Next(DataRow* row) override;
  void Rewind() override { next_ = 0; }
  const ColumnPlan& plan() const override { return plan_; }
  double Progress() const override {
    return rows_ == 0 ? 1 : static_cast<double>(next_) / static_cast<double>(rows_);
  }

 private:
  MemoryReader(const ClickRows& given, ColumnPlan plan, size_t rows);

  Status ReadColumn(size_t column);

  ClickRows given_;
  ColumnPlan plan_;
  size_t rows_;
  size_t next_ = 0;
  std::vector<size_t> used_;  // columns of features, each once
  std::vector<bool> is_numeric_;
  std::vector<std::string_view> fields_;
  std::vector<double> numbers_;
  std::vector<std::array<char, 20>> decimals_;  // of whole numbers: what fields_ point into
};

}  // namespace strata
