// Bugs that a server of the simulation can be given, to see that they are found.
#pragma once

#include "tests/sim/sim_server.h"

namespace strata::sim {

// A log that says "written" before it has written.
Bugs AckBeforeLog();
// A log that says "synced" once it has written.
Bugs AckBeforeSync();
// Rows come back from the log, but not who wrote them.
Bugs ForgetWindows();
// A checkpoint's manifest is on stable storage before its parts are.
Bugs ManifestFirst();

}  // namespace strata::sim
