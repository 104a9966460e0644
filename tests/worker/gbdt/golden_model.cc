#include "tests/worker/gbdt/golden_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "tests/support/golden.h"

namespace strata {
namespace {

std::vector<std::string> SplitAt(std::string_view text, std::string_view delimiter) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = text.find(delimiter);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + delimiter.size());
  }
}

std::vector<double> Numbers(std::string_view text, std::string_view delimiter) {
  std::vector<double> numbers;
  for (const std::string& part : SplitAt(text, delimiter)) {
    if (!part.empty()) numbers.push_back(std::strtod(part.c_str(), nullptr));
  }
  return numbers;
}

std::vector<std::string> LinesOf(const std::string& name) {
  std::vector<std::string> lines = SplitAt(Golden("gbdt/" + name), "\n");
  lines.pop_back();
  return lines;
}

}  // namespace

std::vector<std::vector<double>> GoldenRows(const std::string& name) {
  std::vector<std::vector<double>> rows;
  for (const std::string& line : LinesOf(name)) rows.push_back(Numbers(line, ","));
  return rows;
}

std::vector<ExpectedRow> GoldenExpected(const std::string& name) {
  std::vector<ExpectedRow> rows;
  for (const std::string& line : LinesOf(name + ".expected.txt")) {
    const std::vector<std::string> parts = SplitAt(line, " | ");
    EXPECT_EQ(parts.size(), 4U) << name;
    rows.push_back({.raw = Numbers(parts[0], " "),
                    .predictions = Numbers(parts[1], " "),
                    .leaves = Numbers(parts[2], " "),
                    .contributions = Numbers(parts[3], " ")});
  }
  return rows;
}

SparseRows ToSparse(const std::vector<std::vector<double>>& rows) {
  SparseRows block;
  for (const std::vector<double>& row : rows) {
    for (size_t f = 0; f < row.size(); ++f) {
      if (row[f] == 0) continue;
      block.columns.push_back(static_cast<uint32_t>(f));
      block.values.push_back(row[f]);
    }
    block.begins.push_back(block.values.size());
    block.labels.push_back(0);
  }
  return block;
}

void ExpectClose(const std::vector<double>& found, const std::vector<double>& expected,
                 double tolerance, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], tolerance * std::max(1.0, std::fabs(expected[i])))
        << what << ", number " << i;
  }
}

}  // namespace strata
