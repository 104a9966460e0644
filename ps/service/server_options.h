// From cluster.toml and flags to a server's options.
#pragma once

#include "cluster/cluster_config.h"
#include "ps/service/server.h"
#include "strata/status.h"

namespace strata {

// With a machine list the server is the entry that --rank says, or else the one with this machine's
// address (and --port, when given); without one it stands alone. May ask the system's resolver.
Result<ServerOptions> MakeServerOptions(const ClusterConfig& config);

}  // namespace strata
