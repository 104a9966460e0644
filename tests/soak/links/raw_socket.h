// Plain connections on loopback, for those who do not speak the protocol of links.
#pragma once

#include <cstdint>

#include "cluster/link/connect/listener.h"

namespace strata::soak {

// Closed when it fails. With `at_once` it does not wait: the connection may still be on its way.
OwnedFd DialLoopback(uint16_t port, bool at_once);

}  // namespace strata::soak
