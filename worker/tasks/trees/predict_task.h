// The task predict: one line of predictions a row of the data.
#pragma once

#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "worker/gbdt/model/tree_model.h"
#include "worker/gbdt/parameters/tree_parameters.h"
#include "worker/gbdt/predict/predictor.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata {

// What predicts with the rounds that the parameters ask for, and `options` otherwise; the model
// outlives it. kInvalid: as Predictor::Make, and a first round that the model does not have.
Result<Predictor> MakePredictor(const TreeParameters& parameters, const TreeModel& model,
                                PredictOptions options);

// Fills the result's rows, features, rounds, seconds and output.
Status RunPredict(const TreeParameters& parameters, const TreeTaskContext& context, WorkPool& pool,
                  TreeTaskResult* result);

}  // namespace strata
