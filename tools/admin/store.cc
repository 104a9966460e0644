#include "tools/admin/store.h"

#include <utility>

#include "ps/client/remote_store.h"
#include "tools/admin/cluster_view.h"

namespace strata::admin {

Result<std::unique_ptr<TableStore>> ConnectStore(const Request& request) {
  STRATA_ASSIGN(const ClusterConfig config, LoadClusterConfig(request));
  RemoteStoreOptions options;
  for (const Machine& machine : config.machines.Of(Role::kServer)) {
    options.servers.push_back(machine.Address());
  }
  options.cluster_id = config.cluster_id();
  options.client_name = "strata-admin";
  options.connect_timeout = request.timeout;
  options.request_timeout = request.timeout;
  options.server_lost_after = request.timeout;
  STRATA_ASSIGN(std::unique_ptr<RemoteStore> store, RemoteStore::Connect(options));
  return std::unique_ptr<TableStore>(std::move(store));
}

}  // namespace strata::admin
