// The hostile soak: a server with hostile peers at every port, beside honest load. The rows of the
// honest clients must hold exact sums, none of their operations may fail, they must not wait much
// longer than beside an honest client that sends as many bytes, and the server must stay within the
// memory that docs/security.md adds up.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "tests/soak/report.h"

namespace strata::soak {

struct HostileSoakOptions {
  uint64_t cycles = 0;  // periods of hostile acts, each followed by one of honest bulk
  uint64_t seed = 1;
  std::string act = {};  // only this one; "": all
  TimeNs patience = 30 * kSecond;
};

SoakReport RunHostileSoak(const HostileSoakOptions& options);

}  // namespace strata::soak
