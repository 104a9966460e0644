// cluster.toml for programs without a command line of ours.
#pragma once

#include <map>
#include <string>

#include "cluster/cluster_config.h"
#include "strata/status.h"

namespace strata {

// The config of the file at `path` ("": none) with `settings` above it, by their full names.
// `origin` is where errors say that these come from.
Result<ClusterConfig> ReadClusterConfig(const std::string& path,
                                        const std::map<std::string, std::string>& settings,
                                        const std::string& origin);

}  // namespace strata
