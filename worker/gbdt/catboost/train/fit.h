// Training of CatBoost's oblivious trees.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/train/category_features.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"
#include "worker/gbdt/catboost/train/fit_rows.h"

namespace strata {

// The metrics after a round, in the order of FitParameters::Metrics.
struct FitLosses {
  std::vector<std::optional<double>> learn;  // nothing: AUC, which is of test rows alone
  std::vector<double> test;                  // empty: there are no test rows
};

struct FitResult {
  double learning_rate = 0;    // given, or chosen
  FitLosses losses;            // of the model
  std::optional<size_t> best;  // rounds up to the best value of the first metric of the test rows
  double best_value = 0;       // that one
  std::string stop_reason;     // why it ended before the last iteration; empty: it did not
};

// What a training tells, and asks.
struct FitWatch {
  // After each round; false ends it there.
  std::function<Result<bool>(size_t rounds, const FitLosses& losses)> round;
  // Before each level of a tree, or before a tree that a GPU grows by itself. Not OK: the training
  // ends with this error.
  std::function<Status()> check;
};

// Adds trees to a model of numbers with borders and of categories, with the statistics that they
// use, and sets bias, loss and what CatBoost reads of model_info. `test` may be null. The model
// does not depend on the number of threads. kInvalid: a loss that is no number any more, or a
// sample without rows.
Result<FitResult> FitTrees(const FitParameters& parameters, const FitRows& learn,
                           const FitRows* test, const CategoryFeatures& categories, WorkPool& pool,
                           const FitWatch& watch, CatBoostModel* model);

}  // namespace strata
