// What a fuzz target does with a model of trees that a reader has taken.
#pragma once

#include "strata/status.h"
#include "worker/gbdt/model/tree_model.h"

namespace strata::fuzz {

// Predicts, writes every format, and reads LightGBM's again, which must give the same model.
void UseTreeModel(const TreeModel& model);

// What a reader made of "the model": a refusal, which must name it, or a model, which is used.
void UseTreeModel(const Result<TreeModel>& model);

}  // namespace strata::fuzz
