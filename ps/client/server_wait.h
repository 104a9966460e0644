// What a client waits for: a server that does not serve now.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace strata {

struct ServerWait {
  uint16_t server = 0;  // in the machine list
  std::string name;     // "server 1 (10.0.0.2:7600)"
  TimeNs since = 0;     // of the client's clock
  std::string why;      // "it is silent", or what it answered last
};

}  // namespace strata
