// A random model of CatBoost, and rows for it: what predictions are timed with.
#pragma once

#include <cstddef>
#include <string>

#include "strata/status.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/catboost_rows.h"

namespace strata::bench {

// 100 oblivious trees of depth 6, of one output. Without categories they ask for 28 numbers with 32
// borders each. With categories they ask for 5 such numbers, 5 exact values, and statistics. These
// are of three categories of 50 to 20,000 values, and of a combination of two. It is the same model
// each time.
CatBoostModel MakeCatBoostModel(bool has_categories);

// Uniform numbers and categories, the same ones each time.
CatBoostRows MakeCatBoostRows(const CatBoostModel& model, size_t rows);

// Writes folder/model.json, folder/rows.tsv and folder/rows.cd, as CatBoost reads them: the model
// and the rows that MakeCatBoostRows makes for it.
Status WriteCatBoostPool(const CatBoostModel& model, size_t rows, const std::string& folder);

}  // namespace strata::bench
