// Host names and addresses, as far as binding a server needs them.
#pragma once

#include <string>

#include "strata/status.h"

namespace strata {

// The numeric form of a host: "localhost" -> "127.0.0.1"; IPv6 without brackets, and only for hosts
// that have no IPv4 address. Asks the system's resolver, so it may block. kInvalid when there
// is no such host, kFailed otherwise; both name the host and what the resolver said.
Result<std::string> NumericAddress(const std::string& host);

// "tcp://localhost:7600" -> "tcp://127.0.0.1:7600", by NumericAddress. kInvalid when the text is no
// endpoint.
Result<std::string> NumericEndpoint(const std::string& endpoint);

// kInvalid unless the text is "host:port", with a port from 1 to 65535. Asks nobody.
Status CheckHostPort(const std::string& address);

// "host:port", with brackets around IPv6.
std::string HostPort(const std::string& host, int port);

}  // namespace strata
