#include "worker/tasks/link_up.h"

#include <utility>

#include "cluster/link/connect/rendezvous.h"
#include "cluster/names/worker_place.h"
#include "cluster/tls/tls_context.h"

namespace strata {

Result<std::unique_ptr<Links>> LinkUp(const ClusterConfig& config, const WorkerIdentity& identity,
                                      const SessionHooks& hooks) {
  STRATA_ASSIGN(const std::shared_ptr<const TlsContext> tls, TlsContext::Load(config.tls));
  LinkOptions options{.workers = identity.workers,
                      .rank = static_cast<int>(identity.rank),
                      .cluster = config.name,
                      .job = identity.job,
                      .secret = config.secret,
                      .tls = tls,
                      .insecure = config.insecure,
                      .shared_memory = config.shared_memory,
                      .connect_timeout = config.connect_timeout,
                      .peer_lost_after = config.peer_lost_after};
  std::unique_ptr<Links> links;
  if (identity.meeting) {
    STRATA_ASSIGN(Meeting meeting, Meet({.host = identity.meeting->host,
                                         .port = identity.meeting->port,
                                         .rank = options.rank,
                                         .world = static_cast<int>(identity.world),
                                         .own_port = config.worker_port.value_or(0),
                                         .cluster = options.cluster,
                                         .job = options.job,
                                         .secret = options.secret,
                                         .tls = options.tls,
                                         .insecure = options.insecure,
                                         .timeout = options.connect_timeout}));
    options.workers = std::move(meeting.workers);
    STRATA_ASSIGN(links, Links::Listen(std::move(options), std::move(meeting.listener)));
  } else if (!options.workers.empty()) {
    STRATA_ASSIGN(links, Links::Listen(std::move(options)));
  } else {
    return links;
  }
  links->SetStatusProvider(hooks.status);
  links->SetControlHandler(hooks.control);
  STRATA_TRY(links->Connect());
  return links;
}

Result<WorkerIdentity> FindRank(const ClusterConfig& config) {
  WorkerIdentity identity;
  STRATA_ASSIGN(WorkerPlace place,
                FindWorkerPlace(config.machines, {.rank = config.rank,
                                                  .port = config.worker_port,
                                                  .launcher = config.launcher,
                                                  .variables = ProcessEnvironment(),
                                                  .pod = PodName(),
                                                  .timeout = config.connect_timeout,
                                                  .meeting = config.rendezvous,
                                                  .world = config.world}));
  identity.rank = static_cast<uint32_t>(place.rank);
  identity.world = static_cast<uint32_t>(place.world);
  identity.workers = std::move(place.workers);
  identity.meeting = std::move(place.meeting);
  if (!identity.workers.empty()) identity.address = identity.workers[identity.rank].Address();
  return identity;
}

}  // namespace strata
