// The links soak: groups of 3 to 8 rank processes at work, and one fault at a random moment in
// each. Whatever happens, each rank that lives ends its work in time with an error that names the
// rank to blame, its results were right until then, and it leaves no file descriptor, thread or
// shared memory behind. Where a rank was killed or stopped, the others then go on as a smaller
// group. Strangers harm nobody.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "tests/soak/report.h"

namespace strata::soak {

struct LinksSoakOptions {
  uint64_t cycles = 500;  // go round all kinds of faults
  uint64_t seed = 1;
  TimeNs silence = kSecond;  // after which a silent rank is lost; in every tenth cycle 10 s
  TimeNs slack = 0;          // on top of the bounds
};

// Progress and a table of times go to stderr. To be used by a process with one thread: it forks.
SoakReport RunLinksSoak(const LinksSoakOptions& options);

}  // namespace strata::soak
