// A server of ours in this process, and clients of it, for the suites that measure them.
#pragma once

#include <memory>

#include "base/status.h"
#include "ps/client/remote_store.h"
#include "ps/service/server.h"

namespace strata::bench {

// On a port of its own; cluster and port of `options` are filled in.
Result<std::unique_ptr<Server>> StartServer(ServerOptions options);

Result<std::unique_ptr<RemoteStore>> ConnectTo(const Server& server);

}  // namespace strata::bench
