// Refit: a model's trees keep their splits and get outputs from other data (LightGBM's
// GBDT::RefitTree).
#pragma once

#include "base/thread/work_pool.h"
#include "kernels/tree/split/split.h"
#include "strata/status.h"
#include "worker/gbdt/data/row_source.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/model/tree_model.h"
#include "worker/gbdt/objective/objective.h"

namespace strata {

// Iteration by iteration, gradients are those of the scores of the new trees so far, and a leaf's
// output becomes decay_rate * old + (1 - decay_rate) * shrinkage * what its rows ask for by the
// rules; of a leaf without rows, that is 0. Of several parallel trees (XGBoost's) each is an
// iteration. `source` is what the data came from, row for row. CheckRefits has found nothing wrong.
// Where rows are divided over ranks, collective.
Result<TreeModel> RefitModel(TreeModel model, const SplitRules& rules, double decay_rate,
                             const TreeDataset& data, const TreeObjective& objective,
                             RowSource& source, WorkPool& pool);

}  // namespace strata
