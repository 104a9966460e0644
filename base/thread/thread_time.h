// What a thread has spent of processors.
#pragma once

#include "base/clock.h"

namespace strata {

// Spent by the calling thread so far. Unlike a clock it stands while others run.
TimeNs ThreadTime();

}  // namespace strata
