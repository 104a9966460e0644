// TextRows: rows from CSV, TSV or libsvm text, which is told from the first lines as LightGBM does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/disk.h"
#include "base/status.h"
#include "worker/data/line_reader.h"
#include "worker/gbdt/data/row_source.h"

namespace strata {

// Columns by "3" or "name:age"; numbers leave the label's column out (so does LightGBM), the
// label's own excepted.
struct TextColumns {
  bool header = false;
  std::string label;                // "": the first
  std::string weight;               // "": none
  std::string query;                // "": none
  std::vector<std::string> ignored;
};

enum class TextFormat : uint8_t { kCsv, kTsv, kLibsvm };

class TextRows : public RowSource {
 public:
  // kNotFound: no such file. kInvalid: an empty file, an unknown format, columns that are not
  // there.
  static Result<std::unique_ptr<TextRows>> Open(Disk& disk, const std::string& path,
                                                const TextColumns& columns);

  // kInvalid: file:line, what was expected and found.
  Status Next(SparseRows* block) override;
  Status Rewind() override;
  size_t features() const override;
  std::vector<std::string> FeatureNames() const override;

 private:
  enum class Role : uint8_t { kFeature, kLabel, kWeight, kQuery, kIgnored };

  TextRows(std::unique_ptr<File> file, std::string path, TextFormat format,
           const LineReader::Options& options);
  Status FindColumns(const TextColumns& columns, std::vector<std::string> names, size_t fields);
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
  std::vector<Role> roles_;             // by column, not of libsvm
  std::vector<std::string> names_;      // by feature, where a header names them
  size_t features_ = 0;
};

}  // namespace strata
