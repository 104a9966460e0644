// Host names and the addresses of this machine.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "strata/status.h"

namespace strata {

// The numeric addresses of a host name or a numeric address, without repetitions, in the resolver's
// order of preference. kInvalid when there is no such host, kFailed for other errors of the
// resolver, kDeadlineExceeded when the resolver takes longer
// than `timeout`. Blocks; thread-safe.
Result<std::vector<std::string>> ResolveHost(const std::string& host, TimeNs timeout);

// The numeric addresses of this machine's interfaces that are up.
Result<std::vector<std::string>> LocalAddresses();

// Whether a numeric address is 127.0.0.0/8 or ::1.
bool IsLoopback(const std::string& address);

}  // namespace strata
