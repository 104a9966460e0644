// A model of which only what its trees use is left.
#pragma once

#include "worker/gbdt/catboost/catboost_model.h"

namespace strata {

// Leaves out borders, values, statistics and tables that neither a tree nor a table's projection
// uses. Values ascend then, and statistics have the order of CatBoost's files.
void KeepUsedSplits(CatBoostModel* model);

}  // namespace strata
