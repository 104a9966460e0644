#include "tools/admin/cluster_view.h"

#include <fmt/format.h>

#include <utility>

#include "base/disk.h"

namespace strata::admin {
namespace {

constexpr uint64_t kConfigBytesMax = 1 << 20;

}  // namespace

Result<ClusterConfig> ReadClusterFile(const std::string& path) {
  STRATA_ASSIGN(const std::string text, ReadFile(RealDisk(), path, kConfigBytesMax));
  if (!path.ends_with(".toml")) {
    ClusterConfig config;
    STRATA_ASSIGN(config.machines, ParseMachineList(text, path));
    return config;
  }
  Settings settings(ClusterSettingsTable());
  STRATA_TRY(settings.LoadToml(text, path));
  return MakeClusterConfig(settings, RealDisk());
}

Result<ClusterConfig> LoadClusterConfig(const Request& request) {
  ClusterConfig config;
  if (!request.config_file.empty()) {
    STRATA_ASSIGN(config, ReadClusterFile(request.config_file));
    if (!config.machines.Of(Role::kServer).empty()) return config;
    if (!config.machines.machines.empty() || config.server_port == 0) {
      return Invalid(fmt::format("{}: the machine list has no server", request.config_file));
    }
    // Without a list it is one server's file, which says where that listens.
    Machine& server = config.machines.machines.emplace_back();
    server.host = config.server_host;
    server.port = config.server_port;
    server.role = Role::kServer;
    return config;
  }
  const std::string address = request.server.empty() ? kDefaultServer : request.server;
  const std::string source = request.server.empty() ? "default server" : "--server";
  STRATA_ASSIGN(config.machines, ParseMachineList(address + " server\n", source));
  return config;
}

Result<int> WorldOf(const Request& request) {
  if (request.world > 0) return request.world;
  ClusterConfig config;
  if (!request.config_file.empty()) {
    STRATA_ASSIGN(config, ReadClusterFile(request.config_file));
  }
  const auto world = static_cast<int>(config.machines.Of(Role::kWorker).size());
  if (world > 0) return world;
  return Invalid(fmt::format("{}: the machine list has no workers; give -n N or a list with some",
                             request.config_file.empty() ? "no --config" : request.config_file));
}

}  // namespace strata::admin
