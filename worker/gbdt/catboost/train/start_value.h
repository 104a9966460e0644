// The raw value that a training begins with.
#pragma once

#include "worker/gbdt/catboost/train/fit_parameters.h"
#include "worker/gbdt/catboost/train/fit_rows.h"

namespace strata {

// 0 without boost_from_average. Else the constant with the least loss: of RMSE the labels' mean, as
// float, of Logloss and CrossEntropy its logit, of MAE, Quantile and MAPE a quantile.
double StartValue(const FitParameters& parameters, const FitRows& rows);

}  // namespace strata
