// The parameters of `catboost fit` that say how the model shrinks.
#pragma once

#include "base/settings/settings.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/train/model_shrinkage.h"

namespace strata {

// Reads model_shrink_rate and model_shrink_mode from settings that have those rows. Without a rate
// a model with monotone constraints has CatBoost's. kInvalid: a mode that has no effect.
Result<ShrinkParameters> ReadShrinkage(const Settings& settings, bool is_monotone);

}  // namespace strata
