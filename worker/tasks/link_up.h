// LinkUp: this worker's links to the others of its group.
#pragma once

#include <memory>

#include "cluster/cluster_config.h"
#include "cluster/link/links.h"
#include "strata/status.h"
#include "worker/tasks/session.h"

namespace strata {

// This worker's place by machine list, flags and launcher; job and task are left empty. kInvalid
// when it has none.
Result<WorkerIdentity> FindRank(const ClusterConfig& config);

// Meets the others where nothing lists them, and connects. Null without others: then this one is
// alone.
Result<std::unique_ptr<Links>> LinkUp(const ClusterConfig& config, const WorkerIdentity& identity,
                                      const SessionHooks& hooks);

}  // namespace strata
