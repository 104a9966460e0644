#include "cluster/join/linked_group.h"

#include <utility>

#include "cluster/collective/group.h"
#include "cluster/link/connect/rendezvous.h"
#include "cluster/tls/tls_context.h"

namespace strata {
namespace {

// Null without others.
Result<std::unique_ptr<Links>> LinkUp(const ClusterConfig& config, const WorkerPlace& place,
                                      const std::string& job, const LinkHooks& hooks) {
  STRATA_ASSIGN(const std::shared_ptr<const TlsContext> tls, TlsContext::Load(config.tls));
  LinkOptions options{.workers = place.workers,
                      .rank = place.rank,
                      .cluster = config.name,
                      .job = job,
                      .secret = config.secret,
                      .tls = tls,
                      .insecure = config.insecure,
                      .shared_memory = config.shared_memory,
                      .connect_timeout = config.connect_timeout,
                      .peer_lost_after = config.peer_lost_after};
  std::unique_ptr<Links> links;
  if (place.meeting) {
    STRATA_ASSIGN(Meeting meeting, Meet({.host = place.meeting->host,
                                         .port = place.meeting->port,
                                         .rank = options.rank,
                                         .world = place.world,
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

}  // namespace

Result<WorkerPlace> FindPlace(const ClusterConfig& config) {
  return FindWorkerPlace(config.machines, {.rank = config.rank,
                                           .port = config.worker_port,
                                           .launcher = config.launcher,
                                           .variables = ProcessEnvironment(),
                                           .pod = PodName(),
                                           .timeout = config.connect_timeout,
                                           .meeting = config.rendezvous,
                                           .world = config.world});
}

LinkedGroup::LinkedGroup(const ClusterConfig& config, std::unique_ptr<Links> links)
    : shutdown_timeout_(config.shutdown_timeout), links_(std::move(links)) {
  if (links_ == nullptr) return;
  group_.emplace(*links_,
                 GroupOptions{.timeout = config.collective_timeout, .choices = config.choices});
}

Result<std::unique_ptr<LinkedGroup>> LinkedGroup::Join(const ClusterConfig& config,
                                                       const WorkerPlace& place,
                                                       const std::string& job,
                                                       const LinkHooks& hooks) {
  STRATA_ASSIGN(std::unique_ptr<Links> links, LinkUp(config, place, job, hooks));
  return std::unique_ptr<LinkedGroup>(new LinkedGroup(config, std::move(links)));
}

void LinkedGroup::OnFailure(std::function<void(const Status&)> callback) {
  if (links_ != nullptr) links_->OnFailure(std::move(callback));
}

void LinkedGroup::Cancel(const Status& status) {
  if (links_ != nullptr) links_->Cancel(status);
}

Status LinkedGroup::Close(const Status& outcome) {
  if (links_ == nullptr) return outcome;
  if (outcome.ok()) return links_->Leave(shutdown_timeout_);
  links_->Cancel(outcome);
  return outcome;
}

}  // namespace strata
