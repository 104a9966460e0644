// TreeRanks: the workers that train trees together, from linking up to the goodbye.
#pragma once

#include <memory>
#include <optional>

#include "base/file/disk.h"
#include "cluster/cluster_config.h"
#include "cluster/collective/group.h"
#include "cluster/link/links.h"
#include "strata/status.h"
#include "worker/gbdt/parameters.h"
#include "worker/tasks/session.h"

namespace strata {

// The machines that LightGBM's parameters name become the config's workers. False: they name none.
// kInvalid: `has_cluster` and they do too, a list that cannot be read or is not of num_machines, or
// --rank where num_machines is 1.
Result<bool> AddMachines(Disk& disk, const TreeParameters& parameters, bool has_cluster,
                         ClusterConfig* config);

// One thread, except Cancel.
class TreeRanks {
 public:
  // Errors as those of LinkUp. kInvalid: a task or a tree_learner that is not of several workers.
  static Result<std::unique_ptr<TreeRanks>> Open(const ClusterConfig& config,
                                                 const TreeParameters& parameters,
                                                 const WorkerIdentity& identity,
                                                 const SessionHooks& hooks);

  Group* group() { return group_.has_value() ? &*group_ : nullptr; }  // null: alone
  // Ends every wait, now and later, with this status. Any thread.
  void Cancel(const Status& status);
  // Tells the others how it ended; after success, waits until all of them are done, at most for the
  // shutdown timeout. Returns the outcome, or the loss of a worker during that wait.
  Status Close(const Status& outcome);

 private:
  TreeRanks(const ClusterConfig& config, std::unique_ptr<Links> links);

  const TimeNs shutdown_timeout_;
  std::unique_ptr<Links> links_;
  std::optional<Group> group_;
};

}  // namespace strata
