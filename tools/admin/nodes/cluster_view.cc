#include "tools/admin/nodes/cluster_view.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/file/disk.h"
#include "base/file/text_file.h"
#include "cluster/link/connect/query.h"
#include "cluster/tls/tls_context.h"

namespace strata::admin {
namespace {

constexpr uint64_t kConfigBytesMax = 1 << 20;

}  // namespace

Result<ClusterConfig> ReadClusterFile(const std::string& path) {
  STRATA_ASSIGN(const std::string text, ReadTextFile(RealDisk(), path, kConfigBytesMax));
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

Result<std::vector<Machine>> AllNodes(const ClusterConfig& config, const std::string& rendezvous,
                                      TimeNs timeout) {
  std::vector<Machine> nodes = config.machines.machines;
  std::optional<Machine> first = config.rendezvous;
  if (!rendezvous.empty()) {
    if (!config.machines.Of(Role::kWorker).empty()) {
      return Invalid(
          fmt::format("--rendezvous is for workers that nothing lists, but {} lists some",
                      config.machines.file));
    }
    STRATA_ASSIGN(const MachineList parsed,
                  ParseMachineList(rendezvous + " worker", "--rendezvous"));
    first = parsed.machines.at(0);
  }
  if (!first) return nodes;
  const auto tls = TlsContext::Load(config.tls);
  auto workers = tls.ok() ? QueryWorkers(first->host, first->port, config.secret, timeout, *tls)
                          : Result<std::vector<Machine>>(tls.status());
  // Asked for its status, worker 0 says once more why it does not answer.
  if (!workers.ok()) workers = std::vector<Machine>{*first};
  nodes.insert(nodes.end(), workers->begin(), workers->end());
  return nodes;
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
