// The learning rate that CatBoost chooses where nobody gives one.
#pragma once

#include <cstddef>

#include "worker/gbdt/catboost/train/fit_parameters.h"

namespace strata {

// By loss, rows and iterations, with the constants of CatBoost's own choice for CPUs
// (libs/train_lib/options_helper.cpp of its sources); up to 0.5, rounded to six digits, as float.
double AutoLearningRate(const FitParameters& parameters, size_t rows);

}  // namespace strata
