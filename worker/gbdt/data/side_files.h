// LightGBM's side files: FILE.weight (a weight a row), FILE.query (rows of each query, in order)
// and FILE.init (scores to start from: a line a row, a column a class).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"

namespace strata {

struct SideFiles {
  std::vector<float> weights;       // empty: no such file
  std::vector<double> init_scores;  // class * rows + row; empty: no such file
};

// Rows [first, first + rows) of the `all` rows of a data file that are used. Side files have a line
// for each row of the data file, those included that cannot be read and are left out.
struct SidePart {
  uint64_t first = 0;
  size_t rows = 0;
  uint64_t all = 0;
  // Of each row that is left out, how many used ones stand before it; ascending.
  std::span<const uint64_t> left_out = {};
};

// Reads of those that are there what belongs to these rows; with `has_weights`, which a column of
// the data gives, FILE.weight is left aside. The log says which files are used. kInvalid: a file
// that does not fit.
Result<SideFiles> ReadSideFiles(Disk& disk, const std::string& data_path, const SidePart& part,
                                size_t classes, bool has_weights);

// Says that FILE.query is left aside, if there is one: the data says the queries itself.
void SayUnusedQueryFile(Disk& disk, const std::string& data_path);

// Whether there is FILE.position: LightGBM's places of rows in the lists that people saw.
Result<bool> HasPositionFile(Disk& disk, const std::string& data_path);

// Where each query of a data file begins, among the rows that are used, and their number, whatever
// part `part` is; empty: no such file. kInvalid: a file that does not fit.
Result<std::vector<size_t>> ReadQueryFile(Disk& disk, const std::string& data_path,
                                          const SidePart& part);

// Queries from a column's values: rows of one query stand together. kInvalid: they do not.
Result<std::vector<size_t>> QueriesFromColumn(const std::vector<int64_t>& query_of_row,
                                              const std::string& path);

}  // namespace strata
