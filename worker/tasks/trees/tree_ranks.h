// How the workers that train trees together find and join each other.
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

// Links up with the other workers that train the same trees. Errors as those of LinkedGroup::Join.
// kInvalid: a task or a tree_learner that is not of several workers.
Result<std::unique_ptr<LinkedGroup>> JoinTreeRanks(const ClusterConfig& config,
                                                   const MachineParameters& machine,
                                                   const WorkerIdentity& identity,
                                                   const SessionHooks& hooks);

}  // namespace strata
