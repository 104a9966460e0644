#include "strata/cluster.h"

#include <utility>

#include "base/hash.h"
#include "cluster/config_file.h"
#include "ps/client/collections.h"
#include "ps/client/remote_store.h"

namespace strata {

Result<ClusterOptions> ReadClusterFile(const std::string& path) {
  STRATA_ASSIGN(const ClusterConfig config, ReadClusterConfig(path, {}, "the cluster file"));
  ClusterOptions options{.name = config.name,
                         .connect_timeout = config.connect_timeout,
                         .request_timeout = config.request_timeout,
                         .server_lost_after = config.server_lost_after,
                         .shared_memory = config.server_shared_memory};
  for (const Machine& machine : config.machines.Of(Role::kServer)) {
    options.servers.push_back(machine.Address());
  }
  if (options.servers.empty()) {
    return Invalid(path +
                   ": names no server: add cluster.servers, or a machine list with a line "
                   "\"host:port server\"");
  }
  return options;
}

struct Cluster::Impl {
  std::unique_ptr<RemoteStore> store;
  Collections collections{*store};
};

Cluster::Cluster(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Cluster::~Cluster() = default;

Result<std::unique_ptr<Cluster>> Cluster::Connect(const ClusterOptions& options) {
  STRATA_ASSIGN(auto store, RemoteStore::Connect({.servers = options.servers,
                                                  .cluster_id = Hash64(options.name),
                                                  .client_name = options.client_name,
                                                  .connect_timeout = options.connect_timeout,
                                                  .request_timeout = options.request_timeout,
                                                  .server_lost_after = options.server_lost_after,
                                                  .shared_memory = options.shared_memory}));
  return std::unique_ptr<Cluster>(new Cluster(std::make_unique<Impl>(std::move(store))));
}

TableStore& Cluster::tables() { return *impl_->store; }
CollectionStore& Cluster::collections() { return impl_->collections; }
void Cluster::Abort(const Status& status) { impl_->store->Abort(status); }

}  // namespace strata
