// CsvReader: the checked rows of one rank's share of CSV files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/data/batch/row_reader.h"
#include "worker/data/feature/data_spec.h"
#include "worker/data/file/data_lines.h"
#include "worker/data/text/columns.h"
#include "worker/data/text/csv_files.h"
#include "worker/data/text/csv_row.h"

namespace strata {

// One thread at a time.
class CsvReader : public RowReader {
 public:
  // The rows are those of the files one after another. The disk outlives the reader. Errors are
  // those of OpenCsvFiles.
  static Result<std::unique_ptr<CsvReader>> Open(Disk& disk, const std::vector<std::string>& paths,
                                                 const DataSpec& spec, const TextOptions& options);
  // The same of one file.
  static Result<std::unique_ptr<CsvReader>> Open(Disk& disk, const std::string& path,
                                                 const DataSpec& spec, const TextOptions& options) {
    return Open(disk, std::vector<std::string>{path}, spec, options);
  }

  // The next good row, or with keep_bad_rows the next one. kInvalid when too many lines are bad: as
  // soon as that is certain, else at the end.
  Result<bool> Next(DataRow* row) override;
  void Rewind() override { lines_.Rewind(); }
  void BeginEpoch(uint64_t epoch) override { lines_.BeginEpoch(epoch); }

  // From now on there is this share alone, from its first row; with `to_end`, what follows it, too.
  // kInvalid: a part of a compressed file.
  Status TakeShare(Share share, bool to_end) { return lines_.TakeShare(share, to_end); }

  const DataSpec& spec() const { return parser_.spec(); }
  const ColumnPlan& plan() const override { return parser_.plan(); }
  double Progress() const override { return lines_.Progress(); }
  uint64_t bad_rows() const override { return lines_.bad_lines(); }

 private:
  CsvReader(Disk& disk, CsvFiles files, const DataSpec& spec, const TextOptions& options);

  bool keep_bad_rows_;
  DataLines lines_;
  CsvRowParser parser_;
  std::string bad_reason_;  // of the last bad row
};

}  // namespace strata
