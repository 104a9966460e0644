// Reads cluster.toml from its file.
#pragma once

#include <map>
#include <string>

#include "base/file/disk.h"
#include "base/settings/settings.h"
#include "cluster/cluster_config.h"
#include "strata/status.h"

namespace strata {

// Loads the file at `path` over the settings. kNotFound: there is none, which the error blames on
// `origin` ("--config"); kFailed: it cannot be read; kInvalid: as Settings::LoadToml.
Status LoadClusterFile(Disk& disk, const std::string& path, const std::string& origin,
                       Settings* settings);

// For programs without a command line of ours: the config of the file at `path` ("": none) with
// `settings` above it, by their full names. `origin` is where errors say that these come from.
Result<ClusterConfig> ReadClusterConfig(const std::string& path,
                                        const std::map<std::string, std::string>& settings,
                                        const std::string& origin);

}  // namespace strata
