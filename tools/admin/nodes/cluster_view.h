// The cluster as strata-admin knows it before it asks anyone.
#pragma once

#include <string>
#include <vector>

#include "cluster/cluster_config.h"
#include "strata/status.h"
#include "tools/admin/request.h"

namespace strata::admin {

// A cluster.toml, read and checked as the daemons do. A file that is not named like TOML is taken
// for a machine list, all other settings at their defaults. Errors name file and line.
Result<ClusterConfig> ReadClusterFile(const std::string& path);

// What --config or --server say; without either one server at kDefaultServer. Never without
// servers.
Result<ClusterConfig> LoadClusterConfig(const Request& request);

// All nodes that there are to ask: those of the machine list and workers that met, at
// `rendezvous` ("host:port"; "": worker.rendezvous of the file), where worker 0 names the others.
// When it does not, it is the only one of them. kInvalid: no address, or the list has workers.
Result<std::vector<Machine>> AllNodes(const ClusterConfig& config, const std::string& rendezvous,
                                      TimeNs timeout);

// How many ranks: -n, or the workers of --config's machine list. kInvalid if it has none.
Result<int> WorldOf(const Request& request);

}  // namespace strata::admin
