// The tables of a running cluster, for commands that change or read rows.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/status.h"
#include "cluster/cluster_config.h"
#include "ps/client/remote_store.h"
#include "tools/admin/request.h"

namespace strata::admin {

// Connects to all servers within the timeout.
Result<std::unique_ptr<RemoteStore>> ConnectStore(const ClusterConfig& config, TimeNs timeout);
// The same for the request's cluster, after asking each server how it is: the error names every one
// that is down or refuses.
Result<std::unique_ptr<RemoteStore>> ConnectStore(const Request& request);

}  // namespace strata::admin
