// TextRows: rows from CSV, TSV or libsvm text, which is told from the first lines as LightGBM does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/disk.h"
#include "base/status.h"
#include "worker/data/line_reader.h"
#include "worker/gbdt/data/column_roles.h"
#include "worker/gbdt/data/row_source.h"

namespace strata {

enum class TextFormat : uint8_t { kCsv, kTsv, kLibsvm };

class TextRows : public RowSource {
 public:
  // kNotFound: no such file. kInvalid: an empty file, an unknown format, columns that are not
  // there.
  static Result<std::unique_ptr<TextRows>> Open(Disk& disk, const std::string& path,
                                                const ColumnChoice& columns);

  // kInvalid: file:line, what was expected and found.
  Status Next(SparseRows* block) override;
  Status Rewind() override;
  size_t features() const override { return roles_.features; }
  std::vector<std::string> FeatureNames() const override { return roles_.Names(); }

 private:
  TextRows(std::unique_ptr<File> file, std::string path, TextFormat format,
           const LineReader::Options& options);
  Status ReadFields(std::string_view line, SparseRows* block);
  Status ReadPairs(std::string_view line, SparseRows* block);
  Status Wrong(const std::string& what) const;
  Result<double> Number(std::string_view text) const;

  std::unique_ptr<File> file_;
  std::string path_;
  TextFormat format_;
  LineReader lines_;
  bool has_header_ = false;
  bool skips_header_ = false;  // the next line
  uint64_t line_ = 0;
  ColumnRoles roles_;  // of libsvm: features and their number alone
};

}  // namespace strata
