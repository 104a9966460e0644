#include <fmt/format.h>

#include <utility>
#include <vector>

#include "ps/client/remote_store.h"
#include "worker/session.h"

namespace strata {
namespace {

class ClusterSession final : public Session {
 public:
  ClusterSession(std::unique_ptr<Group> group, std::unique_ptr<RemoteStore> store, int servers)
      : group_(std::move(group)), store_(std::move(store)), servers_(servers) {}

  Group& group() override { return *group_; }
  TableStore& store() override { return *store_; }
  int servers() const override { return servers_; }
  std::string address() const override { return ""; }
  void Cancel(const Status& status) override { store_->Abort(status); }
  void Close(const Status& /*outcome*/) override {}

 private:
  std::unique_ptr<Group> group_;
  std::unique_ptr<RemoteStore> store_;
  int servers_;
};

Result<RemoteStoreOptions> StoreOptions(const ClusterConfig& config, int rank) {
  RemoteStoreOptions options{.servers = {},
                             .cluster_id = config.cluster_id(),
                             .client_name = fmt::format("worker {}", rank),
                             .connect_timeout = config.connect_timeout,
                             .request_timeout = config.request_timeout,
                             .server_lost_after = config.server_lost_after};
  for (const Machine& machine : config.machines.Of(Role::kServer)) {
    options.servers.push_back(machine.Address());
  }
  if (options.servers.empty()) {
    return Invalid(fmt::format("{}: names no server: expected a line \"host:port server\"",
                               config.machines.file));
  }
  return options;
}

}  // namespace

Result<std::unique_ptr<Session>> OpenClusterSession(
    const ClusterConfig& config, const std::string& /*job_name*/,
    std::function<std::string()> /*serialized_status*/) {
  STRATA_ASSIGN(const RemoteStoreOptions options, StoreOptions(config, 0));
  STRATA_ASSIGN(std::unique_ptr<RemoteStore> store, RemoteStore::Connect(options));
  return std::unique_ptr<Session>(std::make_unique<ClusterSession>(
      std::make_unique<SingleGroup>(), std::move(store), static_cast<int>(options.servers.size())));
}

}  // namespace strata
