// The parameters of `catboost fit` that say how rows are sampled.
#pragma once

#include "base/settings/settings.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/train/bootstrap_sampler.h"
#include "worker/gbdt/catboost/train/loss_spec.h"

namespace strata {

// Reads bootstrap_type and what goes with it from settings that have those rows. Without it the
// loss decides, as in CatBoost. kInvalid: a share of no rows, or a parameter that has no effect on
// the type.
Result<BootstrapParameters> ReadSampling(const Settings& settings, FitLoss loss);

}  // namespace strata
