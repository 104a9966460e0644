// The parameters of `catboost fit` that say when a training ends, and which of its trees stay.
#pragma once

#include "base/settings/settings.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"

namespace strata {

// Sets the best model and the detector from settings that have rows of test_set, use_best_model,
// best_model_min_trees, od_type, od_wait, od_pval and early_stopping_rounds. As in CatBoost,
// od_pval alone means IncToDec, and the others Iter. kInvalid: one of them has no effect, as
// without test rows.
Status SetEnd(const Settings& settings, FitParameters* parameters);

}  // namespace strata
