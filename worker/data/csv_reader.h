// CsvReader: the checked rows of one rank's share of a CSV file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/data/bad_lines.h"
#include "worker/data/columns.h"
#include "worker/data/csv_line.h"
#include "worker/data/data_spec.h"
#include "worker/data/line_reader.h"
#include "worker/data/row_reader.h"

namespace strata {

struct CsvOptions {
  Share share = {};  // the whole file by default
  // false: labels, weights and queries are not read, and their columns may be absent; labels are
  // NaN, weights 1.
  bool labels_required = true;
  // A row that cannot be read comes as a row of missing values with `bad` set, instead of being
  // left out.
  bool keep_bad_rows = false;
  bool log_bad_lines = true;     // warnings for the first ten, once a pass is through
  size_t block_bytes = 1 << 20;  // read from the disk at a time
};

// One thread at a time.
class CsvReader : public RowReader {
 public:
  // Opens the file, reads its header where the spec says that it has one, and matches columns.
  // kNotFound: no such file. kInvalid: an empty file, one that is no text, or columns that do not
  // match the spec.
  static Result<std::unique_ptr<CsvReader>> Open(Disk& disk, const std::string& path,
                                                 const DataSpec& spec, const CsvOptions& options);

  // The next good row, or with keep_bad_rows the next one. kInvalid when too many lines are bad: as
  // soon as that is certain, else at the end.
  Result<bool> Next(DataRow* row) override;
  void Rewind() override;

  // From now on there is this share alone, from its first row; with `to_end`, what follows it, too.
  void TakeShare(Share share, bool to_end);

  const DataSpec& spec() const { return spec_; }
  const ColumnPlan& plan() const override { return plan_; }
  double Progress() const override { return lines_.Progress(); }
  uint64_t bad_rows() const override { return bad_.count(); }

 private:
  struct Source {
    std::unique_ptr<File> file;
    uint64_t size = 0;
    uint64_t data_begin = 0;       // first byte behind the byte order mark and the header
    uint64_t data_first_line = 1;  // its line number
  };

  CsvReader(Source source, std::string path, const DataSpec& spec, ColumnPlan plan,
            const CsvOptions& options);

  LineReader::Options RangeOptions(Share share, bool to_end) const;
  // Each returns "" or why the line is bad.
  std::string ReadRow(const Line& line, DataRow* row);
  std::string ReadLearned(DataRow* row) const;
  std::string ReadNumber(size_t column);
  std::string ReadLabel(float* label) const;
  std::string ReadWeight(float* weight) const;
  std::string ReadQuery(int64_t* query) const;
  bool NamesColumns() const;
  void MakeMissing(DataRow* row);

  Source source_;
  std::string path_;
  DataSpec spec_;
  ColumnPlan plan_;
  CsvOptions options_;
  LineReader lines_;
  BadLines bad_;
  CsvFields fields_;
  std::vector<double> numbers_;
  std::string bad_reason_;  // of the last bad row
};

}  // namespace strata
