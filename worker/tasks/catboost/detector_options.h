// The parameters of `catboost fit` that say when a training ends early.
#pragma once

#include <optional>

#include "base/settings/settings.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/train/overfitting_detector.h"

namespace strata {

// Reads od_type, od_wait, od_pval and early_stopping_rounds from settings that have those rows.
// Nothing: none is given. As CatBoost does, od_pval alone means IncToDec, and the others Iter.
// kInvalid: without test rows, or one of them has no effect.
Result<std::optional<DetectorParameters>> ReadDetector(const Settings& settings, bool has_test);

}  // namespace strata
