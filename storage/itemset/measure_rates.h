// What the engines' units of work take on this machine.
#pragma once

#include "base/clock.h"
#include "kernels/setops/search_plan.h"

namespace strata {

// Runs both engines on small blocks that are made for it, some tenths of a second on one thread.
// Of a GPU it says what SearchRates does.
SearchRates MeasureSearchRates(const Clock& clock);

}  // namespace strata
