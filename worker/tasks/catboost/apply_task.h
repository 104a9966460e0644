// The tasks evaluate and predict of a job of CatBoost's trees.
#pragma once

#include <string>

#include "strata/status.h"
#include "worker/gbdt/catboost/pool_file.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata {

struct ApplyOptions {
  std::string task;          // "evaluate", "predict"
  FitParameters parameters;  // of the training: the loss, metrics, weights of classes, the device
  PoolOptions rows;          // with `of_job`
  std::string model_file;
  std::string output_path;  // of predict
  std::string prediction_type;
  int threads = 0;  // 0: one a core
};

// evaluate measures what training measures on its test rows, and gives it as evaluations of "data".
// Weights of auto_class_weights, which go by rows to learn from, do not take part. predict writes a
// line a row, with tabs between the values; those of a row that cannot be read are nan. Both use
// the context's disk, clock, check and files. Errors name the file and the place in it; kInvalid
// also: the model was trained for another loss.
Result<TreeTaskResult> RunApplyTask(const ApplyOptions& options, const TreeTaskContext& context);

}  // namespace strata
