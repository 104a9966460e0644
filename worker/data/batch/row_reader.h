// RowReader: the checked rows of one rank's share of a data set, whatever they are read from.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "strata/status.h"
#include "worker/data/text/columns.h"

namespace strata {

// One row, valid until the next one is read.
struct DataRow {
  std::string_view bad = {};  // why the row cannot be read, with its place; "" of a good one
  uint64_t offset = 0;  // the row's identity, whoever reads it; in a file alone, its first byte
  std::span<const std::string_view> fields;  // by column; "" where the value is missing
  std::span<const double> numbers;           // by column; finite, NaN where missing or not a number
  float label = 0;                           // NaN when missing and not required
  float weight = 1;
  int64_t query = 0;
};

// One thread at a time.
class RowReader {
 public:
  virtual ~RowReader() = default;
  // The next row; false at the end of the share.
  virtual Result<bool> Next(DataRow* row) = 0;
  // Back to the share's first row.
  virtual void Rewind() = 0;
  // The same, in the order of this epoch, where the reader has one for each.
  virtual void BeginEpoch(uint64_t /*epoch*/) { Rewind(); }
  // The plan says where each feature's column stands in a row.
  virtual const ColumnPlan& plan() const = 0;
  // Share of the rows that has been read since Rewind, 0 to 1.
  virtual double Progress() const = 0;
  // Rows since Rewind that could not be read.
  virtual uint64_t bad_rows() const { return 0; }
};

}  // namespace strata
