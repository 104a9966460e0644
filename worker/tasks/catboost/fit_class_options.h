// The parameters of `catboost fit` about classes.
#pragma once

#include "base/settings/settings.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"

namespace strata {

// Sets names, number and weights of classes from settings of FitSettingsTable; the loss is set.
// kInvalid: parameters that exclude each other, or are not for the loss.
Status SetClassParameters(const Settings& settings, FitParameters* parameters);

}  // namespace strata
