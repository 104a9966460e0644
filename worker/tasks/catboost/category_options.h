// What the parameters of a training say about categories.
#pragma once

#include <cstddef>

#include "base/settings/settings.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/train/category_parameters.h"

namespace strata {

// Of FitSettingsTable. max_ctr_complexity depends on the iterations where it is not given. kInvalid
// names where a description of statistics comes from, the key, and what is wrong with it.
Result<CategoryParameters> ReadCategoryParameters(const Settings& settings, size_t iterations);

}  // namespace strata
