// The golden models of CatBoost: tests/golden/catboost.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/catboost_rows.h"

namespace strata {

inline constexpr const char* kGoldenCatBoost[] = {
    "absent_classes", "combinations", "depthwise",  "lossguide", "means",
    "nan_max",        "numbers",      "one_vs_all", "poisson",   "types"};

// The model NAME.json. A file that cannot be read fails the test.
CatBoostModel GoldenCatBoost(const std::string& name);

// What the model reads of rows, whose cells are by feature: texts of numbers, "" for a missing one,
// and of categories.
CatBoostRows RowsFor(const CatBoostModel& model,
                     const std::vector<std::vector<std::string>>& cells);

// The cells of rows.tsv.
std::vector<std::vector<std::string>> GoldenCatBoostCells();

// What CatBoost says of each row: its kinds of predictions by name. Infinities are texts.
nlohmann::json GoldenCatBoostExpected(const std::string& name);
double NumberOf(const nlohmann::json& value);

// Of each row, its raw values.
std::vector<double> RawOf(const CatBoostModel& model, const CatBoostRows& rows);

}  // namespace strata
