#include "tools/admin/store.h"

#include <algorithm>

#include "tools/admin/cluster_view.h"
#include "tools/admin/node_query.h"

namespace strata::admin {

Result<std::unique_ptr<RemoteStore>> ConnectStore(const ClusterConfig& config, TimeNs timeout) {
  RemoteStoreOptions options;
  for (const Machine& machine : config.machines.Of(Role::kServer)) {
    options.servers.push_back(machine.Address());
  }
  options.cluster_id = config.cluster_id();
  options.client_name = "strata-admin";
  options.shared_memory = false;  // for a few messages it is not worth a line about it
  options.connect_timeout = timeout;
  options.request_timeout = timeout;
  options.server_lost_after = std::max(timeout, config.server_lost_after);  // it may be busy
  return RemoteStore::Connect(options);
}

Result<std::unique_ptr<RemoteStore>> ConnectStore(const Request& request) {
  STRATA_ASSIGN(const ClusterConfig config, LoadClusterConfig(request));
  STRATA_TRY(Verdict(AskStatus(config, config.machines.Of(Role::kServer), request.timeout)));
  return ConnectStore(config, request.timeout);
}

}  // namespace strata::admin
