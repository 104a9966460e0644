// A server of ours in this process, and clients of it, for the suites that measure them.
#pragma once

#include <memory>
#include <string>

#include "ps/client/remote_store.h"
#include "ps/service/server.h"
#include "strata/status.h"

namespace strata::bench {

// On a port of its own; cluster and port of `options` are filled in.
Result<std::unique_ptr<Server>> StartServer(ServerOptions options);

// How a client reaches the server: what a message goes through.
enum class Transport { kTcp, kSharedMemory, kInproc };

// Returns once messages go that way; kRefused when they cannot. `inproc`: the server's name within
// this process, if it has one.
Result<std::unique_ptr<RemoteStore>> ConnectTo(const Server& server,
                                               Transport transport = Transport::kTcp,
                                               const std::string& inproc = {});

}  // namespace strata::bench
