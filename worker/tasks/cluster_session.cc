#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "cluster/join/linked_group.h"
#include "ps/client/remote_checkpointer.h"
#include "ps/client/remote_store.h"
#include "worker/tasks/session.h"

namespace strata {
namespace {

Result<std::unique_ptr<RemoteStore>> ConnectStore(
    const ClusterConfig& config, uint32_t rank,
    std::function<void(std::vector<ServerWait>)> on_waits = {}, const StoreThreads& threads = {}) {
  RemoteStoreOptions options{.servers = {},
                             .cluster_id = config.cluster_id(),
                             .client_name = fmt::format("worker {}", rank),
                             .connect_timeout = config.connect_timeout,
                             .request_timeout = config.request_timeout,
                             .server_lost_after = config.server_lost_after,
                             .waits_for_servers = true,
                             .request_timeout_name = "timeouts.request",
                             .server_lost_name = "timeouts.server_lost",
                             .on_waits = std::move(on_waits),
                             .threads = threads.copying,
                             .connections = threads.connections,
                             .shared_memory = config.server_shared_memory};
  for (const Machine& machine : config.machines.Of(Role::kServer)) {
    options.servers.push_back(machine.Address());
  }
  return RemoteStore::Connect(options);
}

class ClusterSession final : public Session {
 public:
  ClusterSession(const ClusterConfig& config, uint32_t rank, std::unique_ptr<LinkedGroup> workers,
                 std::unique_ptr<RemoteStore> store)
      : config_(config),
        rank_(rank),
        servers_(static_cast<int>(config.machines.Of(Role::kServer).size())),
        store_(std::move(store)),
        workers_(std::move(workers)) {
    // A rank that died would let a synchronous step wait for ever.
    workers_->OnFailure([this](const Status& why) { store_->Abort(why); });
  }

  Group& group() override { return workers_->group(); }
  TableStore& store() override { return *store_; }
  int servers() const override { return servers_; }

  void Cancel(const Status& status) override {
    workers_->Cancel(status);
    store_->Abort(status);
  }

  // Over a connection of its own: the store's may be lost or cancelled.
  Status DropLeftover(const std::string& table) override {
    ClusterConfig config = config_;
    config.connect_timeout = std::min(config.connect_timeout, config.shutdown_timeout / 2);
    config.request_timeout = std::min(config.request_timeout, config.shutdown_timeout / 2);
    config.server_lost_after = std::min(config.server_lost_after, config.shutdown_timeout / 4);
    STRATA_ASSIGN(const std::unique_ptr<RemoteStore> store, ConnectStore(config, rank_));
    return store->DropTable(table);
  }

  Result<std::unique_ptr<Checkpointer>> OpenCheckpointer(const JobConfig& job,
                                                         Disk& /*disk*/) override {
    if (!job.checkpoint.folder.empty()) {
      Log(LogLevel::kWarning,
          "checkpoint.folder has no effect with servers: checkpoints lie where server.checkpoints "
          "says");
    }
    return std::unique_ptr<Checkpointer>(std::make_unique<RemoteCheckpointer>(*store_, job.name));
  }

  Status Close(const Status& outcome) override { return workers_->Close(outcome); }

 private:
  const ClusterConfig config_;
  const uint32_t rank_;
  const int servers_;
  // The links go first: their thread calls into the store.
  std::unique_ptr<RemoteStore> store_;
  std::unique_ptr<LinkedGroup> workers_;
};

}  // namespace

Result<WorkerIdentity> FindIdentity(const ClusterConfig& config) {
  WorkerIdentity identity;
  STRATA_ASSIGN(identity.place, FindPlace(config));
  identity.rank = static_cast<uint32_t>(identity.place.rank);
  identity.world = static_cast<uint32_t>(identity.place.world);
  if (!identity.place.workers.empty()) {
    identity.address = identity.place.workers[identity.rank].Address();
  }
  return identity;
}

Result<WorkerIdentity> FindWorkerIdentity(const ClusterConfig& config) {
  const MachineList& list = config.machines;
  if (list.Of(Role::kServer).empty()) {
    return Invalid(fmt::format(
        "{}: names no server: expected a line \"host:port server\", or cluster.servers "
        "(--servers=host:port) for a list of workers alone; without --config a worker keeps the "
        "tables in its own process",
        list.file.empty() ? "the cluster" : list.file));
  }
  return FindIdentity(config);
}

Result<std::unique_ptr<Session>> OpenClusterSession(const ClusterConfig& config,
                                                    const WorkerIdentity& identity,
                                                    const SessionHooks& hooks,
                                                    const StoreThreads& threads) {
  STRATA_ASSIGN(auto workers, LinkedGroup::Join(config, identity.place, identity.job, hooks.links));
  Result<std::unique_ptr<RemoteStore>> store =
      ConnectStore(config, identity.rank, hooks.waits, threads);
  if (!store.ok()) {
    workers->Cancel(store.status());
    return store.status();
  }
  const std::vector<std::string> clients = (*store)->ClientIds();
  Log(LogLevel::kInfo, "{} to each server; strata-admin clients lists worker {} as {}",
      clients.size() == 1 ? "one connection" : fmt::format("{} connections", clients.size()),
      identity.rank, fmt::join(clients, ", "));
  return std::unique_ptr<Session>(std::make_unique<ClusterSession>(
      config, identity.rank, std::move(workers), std::move(store).value()));
}

}  // namespace strata
