// Refit: a model's trees keep their splits and get outputs from other data (LightGBM's
// GBDT::RefitTree).
#pragma once

#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "worker/gbdt/data/row_source.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/model/tree_model.h"
#include "worker/gbdt/objective/objective.h"
#include "worker/gbdt/parameters.h"

namespace strata {

// Iteration by iteration, gradients are those of the scores of the new trees so far, and a leaf's
// output becomes refit_decay_rate * old + (1 - refit_decay_rate) * shrinkage * what its rows ask
// for; of a leaf without rows, that is 0. Of several parallel trees (XGBoost's) each is an
// iteration. `source` is what the data came from, row for row. Where rows are divided over ranks,
// collective. kInvalid: another objective, another number of features, a random forest.
Result<TreeModel> RefitModel(TreeModel model, const TreeParameters& parameters,
                             const TreeDataset& data, const TreeObjective& objective,
                             RowSource& source, WorkPool& pool);

}  // namespace strata
