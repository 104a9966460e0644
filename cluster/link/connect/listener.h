// A listening TCP socket, opened before anybody is told of it and kept until its last use.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/file/owned_fd.h"
#include "strata/status.h"

namespace strata {

struct Listener {
  OwnedFd socket;
  std::string address;  // numeric
  uint16_t port = 0;
};

// Listens on the first address of `host` that this machine can bind. Port 0 takes a free one. The
// error says why none could be bound: kFailed for a port in use or an address of another machine.
Result<Listener> OpenListener(const std::string& host, uint16_t port, TimeNs resolve_timeout);

// kRefused when anybody could connect and be believed: beyond loopback, with neither proof (a
// secret or TLS) nor `insecure`.
Status CheckExposure(const Listener& listener, bool proof, bool insecure);

}  // namespace strata
