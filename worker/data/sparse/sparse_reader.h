// SparseReader: the checked rows of one rank's share of files of libffm or libsvm.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/data/feature/data_spec.h"
#include "worker/data/file/data_lines.h"
#include "worker/data/sparse/sparse_files.h"
#include "worker/data/sparse/sparse_row.h"

namespace strata {

// One thread at a time.
class SparseReader {
 public:
  // The rows are those of the files one after another. The disk outlives the reader. Errors are
  // those of OpenSparseFiles.
  static Result<std::unique_ptr<SparseReader>> Open(Disk& disk,
                                                    const std::vector<std::string>& paths,
                                                    const DataSpec& spec,
                                                    const TextOptions& options);
  // The same of one file.
  static Result<std::unique_ptr<SparseReader>> Open(Disk& disk, const std::string& path,
                                                    const DataSpec& spec,
                                                    const TextOptions& options) {
    return Open(disk, std::vector<std::string>{path}, spec, options);
  }

  // The next good row, or with keep_bad_rows the next one; false at the end of the share. kInvalid
  // when too many lines are bad: as soon as that is certain, else at the end.
  Result<bool> Next(SparseRow* row);

  // Where the row is that Next gave last: "rows.ffm:7".
  std::string PlaceOfRow() const { return lines_.PlaceOf(line_); }

  // Back to the share's first row.
  void Rewind() { lines_.Rewind(); }
  // The same, in the order of this epoch: TextOptions::order_seed.
  void BeginEpoch(uint64_t epoch) { lines_.BeginEpoch(epoch); }
  const DataSpec& spec() const { return parser_.spec(); }
  // Share of the rows that has been read since Rewind, 0 to 1.
  double Progress() const { return lines_.Progress(); }
  // Rows since Rewind that could not be read.
  uint64_t bad_rows() const { return lines_.bad_lines(); }

 private:
  SparseReader(Disk& disk, SparseFiles files, const DataSpec& spec, const TextOptions& options);

  bool keep_bad_rows_;
  DataLines lines_;
  Line line_;  // that was read last
  SparseRowParser parser_;
  std::string bad_reason_;  // of the last bad row
};

}  // namespace strata
