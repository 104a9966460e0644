// RowSource: rows of numbers, block by block, whatever the file's format. Data is gone over twice,
// for the sample and for the bins, so that it is never all in memory as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/tree/bins/gpu_bins.h"
#include "strata/status.h"
#include "worker/data/file/bad_rows.h"
#include "worker/data/file/line_reader.h"
#include "worker/gbdt/data/category_texts.h"

namespace strata {

class Group;

// Compressed sparse rows: row i has values[begins[i] .. begins[i + 1]) of features columns[...].
// What is not there is 0; a missing value is NaN.
struct SparseRows {
  std::vector<size_t> begins = {0};
  std::vector<uint32_t> columns;
  std::vector<double> values;
  std::vector<float> labels;
  std::vector<float> weights;    // empty unless a column holds weights
  std::vector<int64_t> queries;  // likewise: the query that a row belongs to
  // Rows that cannot be read. To learn from, they are left out; to predict for, each is the row
  // here that its number says, without values.
  std::vector<BadRow> bad;

  size_t rows() const { return labels.size(); }
  void Clear() {
    begins.assign(1, 0);
    columns.clear();
    values.clear();
    labels.clear();
    weights.clear();
    queries.clear();
    bad.clear();
  }
};

// The part of a source's rows that one rank reads.
struct RowPart {
  Share share;                                // of the file; nearly equal ones
  size_t skip = 0;                            // leaves out the first of its rows,
  std::optional<size_t> rows = std::nullopt;  // and reads so many, beyond its end if need be
};

struct ColumnRoles;

// All of a source's rows as an array in a file.
struct ArrayRows {
  NumberArray numbers;  // good as long as the source is
  const ColumnRoles* roles = nullptr;
};

// One thread.
class RowSource {
 public:
  virtual ~RowSource() = default;
  // Fills the block with some rows; with none at the end.
  virtual Status Next(SparseRows* block) = 0;
  virtual Status Rewind() = 0;
  // From now on there is only this part, from its beginning.
  virtual Status TakePart(const RowPart& part) = 0;
  // Where categories are texts: numbers those of the rows that are not known yet, in sorted order,
  // behind the others; with a group, those of all ranks' rows, collective then. Until then such a
  // text is a missing value. Rewinds.
  virtual Status FindCategories(Group* /*group*/) { return {}; }
  // Of features, in the order of their columns; complete once the end has been reached (libsvm
  // says no earlier how many there are).
  virtual size_t features() const = 0;
  // As the data has them; a model has those of feature_names.h.
  virtual std::vector<std::string> FeatureNames() const = 0;
  // Where rows are all of an array: for those who read many at once.
  virtual std::optional<ArrayRows> Array() const { return std::nullopt; }
  // Of data whose categories are texts; their numbers are what rows hold.
  virtual CategoryTexts Categories() const { return {}; }
};

}  // namespace strata
