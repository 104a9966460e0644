// LinkedGroup: this process among the workers of its cluster: who they are, the links to them, and
// the group over these, from meeting to goodbye.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/cluster_config.h"
#include "cluster/collective/single_group.h"
#include "cluster/link/links.h"
#include "cluster/names/worker_place.h"
#include "strata/status.h"

namespace strata {

// This worker's place by machine list, flags and launcher. kInvalid when it has none.
Result<WorkerPlace> FindPlace(const ClusterConfig& config);

// What strata-admin reaches through the link port. Called on any thread; must return at once.
struct LinkHooks {
  std::function<std::string()> status;                   // a serialised control::NodeStatus
  std::function<std::string(std::string_view)> control;  // serialised ControlRequest to reply
};

// One thread, except Cancel.
class LinkedGroup {
 public:
  // Meets the others where nothing lists them, and connects. `job` and the cluster's name together
  // name the group. Errors as those of FindPlace, Meet (rendezvous.h) and Links::Connect.
  static Result<std::unique_ptr<LinkedGroup>> Join(const ClusterConfig& config,
                                                   const WorkerPlace& place, const std::string& job,
                                                   const LinkHooks& hooks);

  bool alone() const { return links_ == nullptr; }
  Group& group() { return group_.has_value() ? *group_ : alone_; }
  // As Links::OnFailure. Without others it is never called.
  void OnFailure(std::function<void(const Status&)> callback);
  // Ends every wait, now and later, with this status. Any thread.
  void Cancel(const Status& status);
  // Tells the others how it ended; after success, waits until all of them are done, at most for the
  // shutdown timeout. Returns the outcome, or the loss of a worker during that wait.
  Status Close(const Status& outcome);

 private:
  LinkedGroup(const ClusterConfig& config, std::unique_ptr<Links> links);

  const TimeNs shutdown_timeout_;
  SingleGroup alone_;
  std::unique_ptr<Links> links_;
  std::optional<Group> group_;
};

}  // namespace strata
