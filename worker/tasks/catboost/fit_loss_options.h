// The parameters of `catboost fit` that say what is minimised, and how leaves go about it.
#pragma once

#include "base/settings/settings.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"

namespace strata {

// Sets loss, eval_metric, leaf method, leaf iterations and boost_from_average from settings of
// FitSettingsTable. kInvalid: a loss or metric that is not there, or what the loss does not have.
Status SetLossParameters(const Settings& settings, FitParameters* parameters);

}  // namespace strata
