// LightGBM's side files: FILE.weight (a weight a row), FILE.query (rows of each query, in order)
// and FILE.init (scores to start from: a line a row, a column a class).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/disk.h"
#include "base/status.h"

namespace strata {

struct SideFiles {
  std::vector<float> weights;        // empty: no such file
  std::vector<size_t> query_begins;  // of each query, and the number of rows; empty: no such file
  std::vector<double> init_scores;   // class * rows + row; empty: no such file
};

// Reads those that are there, for a data file of so many rows. kInvalid: a file that does not fit.
Result<SideFiles> ReadSideFiles(Disk& disk, const std::string& data_path, size_t rows,
                                size_t classes);

// Queries from a column's values: rows of one query stand together. kInvalid: they do not.
Result<std::vector<size_t>> QueriesFromColumn(const std::vector<int64_t>& query_of_row,
                                              const std::string& path);

}  // namespace strata
