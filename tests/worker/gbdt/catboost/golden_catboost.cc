#include "tests/worker/gbdt/catboost/golden_catboost.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <sstream>

#include "tests/support/golden.h"
#include "worker/gbdt/catboost/catboost_json.h"
#include "worker/gbdt/catboost/catboost_predictor.h"
#include "worker/gbdt/catboost/category_hash.h"

namespace strata {

CatBoostModel GoldenCatBoost(const std::string& name) {
  Result<CatBoostModel> model = ReadCatBoostJson(Golden("catboost/" + name + ".json"), name);
  EXPECT_TRUE(model.ok()) << model.status().ToString();
  return model.ok() ? *std::move(model) : CatBoostModel();
}

CatBoostRows RowsFor(const CatBoostModel& model,
                     const std::vector<std::vector<std::string>>& cells) {
  CatBoostRows rows(model, cells.size());
  for (size_t row = 0; row < cells.size(); ++row) {
    for (size_t f = 0; f < model.numbers.size(); ++f) {
      const std::string& text = cells[row].at(model.numbers[f].flat_index);
      rows.Number(f)[row] = text.empty() ? std::numeric_limits<float>::quiet_NaN()
                                         : static_cast<float>(std::strtod(text.c_str(), nullptr));
    }
    for (size_t c = 0; c < model.categories.size(); ++c) {
      rows.Category(c)[row] = CategoryHash(cells[row].at(model.categories[c].flat_index));
    }
  }
  return rows;
}

std::vector<std::vector<std::string>> GoldenCatBoostCells() {
  std::vector<std::vector<std::string>> cells;
  std::istringstream lines(Golden("catboost/rows.tsv"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::vector<std::string> row;
    for (std::string field; std::getline(fields, field, '\t');) row.push_back(field);
    cells.emplace_back(row.begin() + 2, row.end());  // after sample id and label
  }
  return cells;
}

nlohmann::json GoldenCatBoostExpected(const std::string& name) {
  return nlohmann::json::parse(Golden("catboost/" + name + ".expected.json"));
}

double NumberOf(const nlohmann::json& value) {
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return value.get<double>();
}

std::vector<double> RawOf(const CatBoostModel& model, const CatBoostRows& rows) {
  std::vector<double> raw(rows.rows() * model.outputs);
  CatBoostPredictor(model).Raw(rows, raw);
  return raw;
}

}  // namespace strata
