// DataSpec: how a data file is written and what its columns mean, as the job file says it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strata/feature_spec.h"
#include "worker/data/raw/raw_layout.h"

namespace strata {

// One line is one row. Fields follow RFC 4180 (quoted fields, "" inside them), except that a field
// never goes on over a line end.
struct CsvFormat {
  bool is_criteo = false;  // Criteo's logs (criteo.h), whose columns are fixed
  char delimiter = ',';
  bool header = false;  // the first line that is neither blank nor a comment names columns
  // The names when there is no header. What is to be predicted may lack the label's.
  std::vector<std::string> columns;
  std::vector<std::string> missing;  // fields that mean "no value", besides the empty field
  bool trim = true;                  // blanks around a field do not belong to it
  std::string comment;               // lines that begin with this text are skipped; "": none
  double bad_share_max = 0.001;      // share of unreadable lines above which reading is an error
};

// Rows that name their values, and have as many as they like (sparse_line.h).
enum class SparseFormat : uint8_t { kLibffm, kLibsvm };
// "libffm", "libsvm": the values of data.format.
const char* SparseFormatName(SparseFormat format);

struct DataSpec {
  // Set: the rows are records of HugeCTR's raw format, and of the rest `features` alone counts.
  std::optional<RawLayout> raw;
  int threads = 1;  // of a worker that parse the rows of batches
  CsvFormat format;
  // Set: the rows are sparse. There are no columns then; of `format` bad_share_max alone counts,
  // and of the rest the two lists of texts of the label.
  std::optional<SparseFormat> sparse;
  std::vector<FeatureSpec> features;
  std::string label;
  // The texts that mean 1 and 0. Both empty: the label is the number 0 or 1.
  std::vector<std::string> label_positive;
  std::vector<std::string> label_negative;
  // Any finite number, not 0 or 1 alone; with both texts empty. Of sparse rows -1 is no 0 then.
  bool label_is_number = false;
  // Any text but the empty one, of rows with columns, whose fields have it; the row's label is NaN.
  bool label_is_text = false;
  std::string weight;  // "": every row weighs 1
  std::string query;   // the column that says to which query a row belongs; "": there are none
  // The column whose texts divide rows into groups, which evaluation looks at one by one; "": there
  // are none. It may be a feature, too.
  std::string group = {};
  std::vector<std::string> ignore;
};

// "numeric", "bucketised", "categorical".
const char* FeatureKindName(FeatureKind kind);

// With all that a job file says of it: "bucketised 'age' (buckets 16)", "numeric 'age' (log)".
std::string FeatureText(const FeatureSpec& feature);

}  // namespace strata
