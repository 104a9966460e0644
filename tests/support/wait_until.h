// Waiting for what another thread or process does, without sleeps in the tests.
#pragma once

#include <functional>

#include "base/clock.h"

namespace strata {

// Asks `done` again and again, a few milliseconds apart, until it is true or `patience` is over.
// True when it became true. The patience is a generous bound for a loaded machine, not a time that
// a test relies on.
bool WaitUntil(const std::function<bool()>& done, TimeNs patience = 60 * kSecond);

}  // namespace strata
