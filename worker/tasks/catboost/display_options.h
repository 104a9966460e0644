// The parameters of `catboost fit` that say what is shown while it trains.
#pragma once

#include <cstddef>

#include "base/settings/settings.h"
#include "strata/status.h"

namespace strata {

struct DisplayOptions {
  size_t metric_period = 1;    // progress is shown after each so many rounds, and the last one
  bool shows_progress = true;  // on standard error
};

// Reads metric_period, logging_level and verbose from settings that have those rows. kInvalid: a
// verbose that is neither a number nor true or false, or two that say the same.
Result<DisplayOptions> ReadDisplay(const Settings& settings);

}  // namespace strata
