// The parameters of `catboost fit` that say when a training ends, and which of its trees stay.
#pragma once

#include "base/settings/settings.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"

namespace strata {

// Sets the best model and the detector from settings that have rows of test_set, use_best_model,
// best_model_min_trees, od_type, od_wait and od_pval. As in CatBoost od_pval means IncToDec where
// there is no od_type, and else od_wait Iter; an od_pval of 0 means no detector, and so do no test
// rows. kInvalid: one of the others has no effect.
Status SetEnd(const Settings& settings, FitParameters* parameters);

}  // namespace strata
