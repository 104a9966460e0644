// CsvRowParser: one line of CSV into a row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "worker/data/batch/row_reader.h"
#include "worker/data/feature/data_spec.h"
#include "worker/data/text/columns.h"
#include "worker/data/text/csv_line.h"

namespace strata {

// True for comments, and for lines of nothing but blanks.
bool IsSkippedCsvLine(std::string_view line, const CsvFormat& format);

// One thread at a time.
class CsvRowParser {
 public:
  // Without `labels_required` labels, weights and queries are not read and may be absent.
  CsvRowParser(DataSpec spec, ColumnPlan plan, bool labels_required);

  const DataSpec& spec() const { return spec_; }
  const ColumnPlan& plan() const { return plan_; }

  bool IsSkipped(std::string_view line) const { return IsSkippedCsvLine(line, spec_.format); }
  // Reads a line that is not to be skipped into a row, which is valid until the next call and as
  // long as the line. Leaves the row's `bad` and `offset`. Returns "", or why the line is no row.
  std::string Parse(std::string_view line, DataRow* row);
  // Makes all of a row missing but its `bad` and `offset`.
  void MakeMissing(DataRow* row);

 private:
  // Each returns "" or why the line is bad.
  std::string ReadLearned(DataRow* row) const;
  std::string ReadNumber(size_t column);
  std::string ReadWeight(float* weight) const;
  std::string ReadQuery(int64_t* query) const;
  bool NamesColumns() const;

  DataSpec spec_;
  ColumnPlan plan_;
  bool labels_required_;
  CsvFields fields_;
  std::vector<double> numbers_;
};

}  // namespace strata
