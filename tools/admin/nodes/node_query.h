// Asking the nodes of a cluster how they are: all at once, each within its own deadline, so that a
// dead one costs one timeout and hides nobody.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cluster/cluster_config.h"
#include "proto/control/control.pb.h"
#include "strata/status.h"

namespace strata::admin {

struct NodeAnswer {
  Machine machine;
  Status status;  // OK: `node` holds what it said
  control::NodeStatus node;

  std::string Name() const;  // "server 0"
  // It runs and says no: another cluster's, or another secret.
  bool refused() const { return status.code() == StatusCode::kRefused; }
  bool down() const { return !status.ok() && !refused(); }
};

// Sends the request to each server and waits for all answers, `timeout` each. In the order given.
std::vector<NodeAnswer> AskServers(const ClusterConfig& config, const std::vector<Machine>& servers,
                                   const control::ControlRequest& request, TimeNs timeout);
// The same for the status of servers and workers.
std::vector<NodeAnswer> AskStatus(const ClusterConfig& config, const std::vector<Machine>& machines,
                                  TimeNs timeout);

// OK when all answered; kLost when any is down, else kRefused. The message has a line with the
// names of those that are down, and one line with the full reason for each that refused.
Status Verdict(const std::vector<NodeAnswer>& answers);

// The first line of a message, cut at a length that fits a table.
std::string ShortReason(const Status& status);

}  // namespace strata::admin
