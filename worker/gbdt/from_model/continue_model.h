// Training that goes on from the trees of a model (input_model), and refit: what they may begin
// with.
#pragma once

#include <string>

#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "worker/gbdt/data/row_source.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/model/tree_model.h"
#include "worker/gbdt/parameters/tree_parameters.h"

namespace strata {

// OK if rounds can be added to the model: same objective, classes, features and way of adding
// trees up. kInvalid: what differs.
Status CheckContinues(const TreeModel& model, const TreeParameters& parameters,
                      const TreeDataset& train);

// OK if the model's trees can get outputs from this data: same objective, classes and features, and
// trees that add up. kInvalid: what differs.
Status CheckRefits(const TreeModel& model, const TreeParameters& parameters,
                   const TreeDataset& data);

// Adds what the model predicts for the data's rows to the scores that they begin with. `source` is
// where the data came from, row for row.
Status AddPredictions(const TreeModel& model, RowSource& source, WorkPool& pool, TreeDataset* data);

}  // namespace strata
