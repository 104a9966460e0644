// SparseRowParser: one line of libffm or libsvm into a row.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "worker/data/feature/data_spec.h"
#include "worker/data/sparse/sparse_line.h"

namespace strata {

// One row, valid until the next one is read.
struct SparseRow {
  std::string_view bad = {};  // why the row cannot be read, with its place; "" of a good one
  uint64_t offset = 0;        // the row's identity: TextBlock::IdOf
  std::string_view text;      // the whole line
  std::span<const SparseValue> values;  // in the order of the line; none of a bad row
  float label = 0;                      // 0 or 1; NaN of a bad row, or when not required
};

// One thread at a time.
class SparseRowParser {
 public:
  // The spec is of sparse rows. Without `labels_required` labels are not read and may be absent.
  SparseRowParser(DataSpec spec, bool labels_required);

  const DataSpec& spec() const { return spec_; }
  bool IsSkipped(std::string_view line) const { return IsSkippedSparseLine(line, format()); }
  // Reads a line that is not to be skipped into a row, which is valid until the next call and as
  // long as the line. Leaves the row's `bad` and `offset`. Returns "", or why the line is no row,
  // which has neither label nor values then.
  std::string Parse(std::string_view line, SparseRow* row);

 private:
  SparseFormat format() const { return *spec_.sparse; }
  std::string Read(std::string_view line, float* label);

  DataSpec spec_;
  bool labels_required_;
  SparseLine parts_;
};

}  // namespace strata
