// One question to one server, without a store: what strata-admin asks when half of a cluster may be
// down. Each call opens a connection, waits for the one reply and closes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "proto/wire/commands.h"
#include "strata/status.h"

namespace strata {

// CONTROL: `body` and the reply are protobuf of proto/control. `address` is "host:port". kLost when
// no answer comes within `timeout`; what the server refuses comes back as its status. `again`: the
// server may be asked more than once, as one that comes back meanwhile has to be; drain and
// shutdown must not.
Result<std::vector<std::byte>> CallControl(const std::string& address, uint64_t cluster_id,
                                           std::span<const std::byte> body, TimeNs timeout,
                                           bool again = false);

// HELLO, more than once if need be: errors as above.
Result<wire::HelloReply> CallHello(const std::string& address, uint64_t cluster_id, TimeNs timeout);

}  // namespace strata
