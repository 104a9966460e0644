// TreeRanks: the workers that train trees together, from linking up to the goodbye.
#pragma once

#include <memory>

#include "base/file/disk.h"
#include "cluster/cluster_config.h"
#include "cluster/join/linked_group.h"
#include "strata/status.h"
#include "worker/gbdt/parameters/machine_parameters.h"
#include "worker/gbdt/parameters/task_parameters.h"
#include "worker/tasks/session.h"

namespace strata {

// The machines that LightGBM's parameters name become the config's workers. False: they name none.
// kInvalid: `has_cluster` and they do too, a list that cannot be read or is not of num_machines, or
// --rank where num_machines is 1.
Result<bool> AddMachines(Disk& disk, const MachineParameters& machine, const TaskParameters& task,
                         bool has_cluster, ClusterConfig* config);

// One thread, except Cancel.
class TreeRanks {
 public:
  // Errors as those of LinkedGroup::Join. kInvalid: a task or a tree_learner that is not of several
  // workers.
  static Result<std::unique_ptr<TreeRanks>> Open(const ClusterConfig& config,
                                                 const MachineParameters& machine,
                                                 const WorkerIdentity& identity,
                                                 const SessionHooks& hooks);

  Group* group() { return workers_->alone() ? nullptr : &workers_->group(); }  // null: alone
  // Ends every wait, now and later, with this status. Any thread.
  void Cancel(const Status& status) { workers_->Cancel(status); }
  // Tells the others how it ended; after success, waits until all of them are done, at most for the
  // shutdown timeout. Returns the outcome, or the loss of a worker during that wait.
  Status Close(const Status& outcome) { return workers_->Close(outcome); }

 private:
  explicit TreeRanks(std::unique_ptr<LinkedGroup> workers) : workers_(std::move(workers)) {}

  std::unique_ptr<LinkedGroup> workers_;
};

}  // namespace strata
