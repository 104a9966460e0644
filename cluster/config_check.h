// `strata-admin config check`: everything that is wrong with a cluster.toml, at once.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file/disk.h"
#include "cluster/cluster_config.h"

namespace strata {

struct ClusterConfigReport {
  // One problem a line, each with file, line and, where there is one, column. Empty: all is well.
  std::vector<std::string> problems;
  ClusterConfig config;  // as far as it could be read
};

// Reads the file and what its good keys name, those of [tls] too; resolves every host (each within
// `resolve_timeout`) and checks what only shows in the whole: two names for one address, more lanes
// than shards, and, when the file has no errors itself, listening beyond loopback that will be
// refused.
ClusterConfigReport CheckClusterConfig(const std::string& path, Disk& disk, TimeNs resolve_timeout);

}  // namespace strata
