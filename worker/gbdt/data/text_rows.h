// TextRows: rows from CSV, TSV or libsvm text, which is told from the first lines as LightGBM does.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/data/file/line_reader.h"
#include "worker/gbdt/data/column_roles.h"
#include "worker/gbdt/data/row_source.h"

namespace strata {

enum class TextFormat : uint8_t { kCsv, kTsv, kLibsvm };

class TextRows : public RowSource {
 public:
  // kNotFound: no such file. kInvalid: an empty file, an unknown format, which is named if it is a
  // common one, columns that are not there.
  static Result<std::unique_ptr<TextRows>> Open(Disk& disk, const std::string& path,
                                                const ColumnChoice& columns);

  // kInvalid: file:line, what was expected and found.
  Status Next(SparseRows* block) override;
  Status Rewind() override;
  Status TakePart(const RowPart& part) override;
  size_t features() const override { return roles_.features; }
  std::vector<std::string> FeatureNames() const override { return roles_.Names(); }

 private:
  TextRows(std::unique_ptr<File> file, std::string path, TextFormat format, uint64_t begin,
           uint64_t size);
  Status ReadFields(std::string_view line, SparseRows* block);
  Status ReadPairs(std::string_view line, SparseRows* block);
  bool IsNoRow(std::string_view line) const;
  Status Wrong(const std::string& what) const;
  Result<double> Number(std::string_view text) const;

  std::unique_ptr<File> file_;
  std::string path_;
  TextFormat format_;
  LineReader lines_;
  const uint64_t begin_;  // of the text
  const uint64_t size_;
  std::optional<uint64_t> header_;  // where the header's line begins
  RowPart part_;
  size_t rows_seen_ = 0;  // of the part
  Line line_;             // the last one
  ColumnRoles roles_;     // of libsvm: features and their number alone
};

}  // namespace strata
