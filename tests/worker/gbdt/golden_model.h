// Models of the peers with what they predict: tests/golden/gbdt, made by its make_golden.py.
#pragma once

#include <string>
#include <vector>

#include "worker/gbdt/data/row_source.h"

namespace strata {

// What a peer says of one row.
struct ExpectedRow {
  std::vector<double> raw;
  std::vector<double> predictions;
  std::vector<double> leaves;
  std::vector<double> contributions;
};

// rows.csv, or what XGBoost takes of it, tame_rows.csv: all values of six features.
std::vector<std::vector<double>> GoldenRows(const std::string& name);
// NAME.expected.txt.
std::vector<ExpectedRow> GoldenExpected(const std::string& name);

// Rows as predictors take them.
SparseRows ToSparse(const std::vector<std::vector<double>>& rows);

// Each number within `tolerance` of the expected one, relative to its size where that is above 1.
void ExpectClose(const std::vector<double>& found, const std::vector<double>& expected,
                 double tolerance, const std::string& what);

}  // namespace strata
