// What a fuzz target does with a model of trees that a reader has taken.
#pragma once

#include "worker/gbdt/model/tree_model.h"

namespace strata::fuzz {

// Predicts, writes every format, and reads LightGBM's again, which must give the same model.
void UseTreeModel(const TreeModel& model);

}  // namespace strata::fuzz
