#include "ps/service/server_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cluster/names/own_rank.h"
#include "ps/net/address.h"

namespace strata {
namespace {

// The others of its cluster would be durable, and this one's part be gone with its process.
Status CheckKeepsState(const ClusterConfig& config) {
  if (!config.data.empty() || config.memory_only) return {};
  return Refused(fmt::format(
      "{} names the servers of a cluster, and this one has no data folder: all that it holds would "
      "be lost with its process; name a folder of its own with --data (server.data), or say that "
      "the cluster's servers keep their state in memory alone with --memory_only "
      "(server.memory_only = true)",
      config.machines.file));
}

Status TakePlace(const ClusterConfig& config, ServerOptions* options) {
  const std::vector<Machine> servers = config.machines.Of(Role::kServer);
  if (servers.empty()) {
    return Invalid(fmt::format("{} lists no server; expected a line such as '10.0.0.1:7600 server'",
                               config.machines.file));
  }
  STRATA_ASSIGN(const int rank, DetectOwnRank(config.machines, Role::kServer, config.rank,
                                              config.port, config.connect_timeout));
  options->lanes_per_server.clear();
  for (const Machine& server : servers) {
    options->lanes_per_server.push_back(server.lanes);
    options->servers.push_back(HostPort(server.host, server.port));
  }
  const Machine& self = servers[static_cast<size_t>(rank)];
  options->rank = static_cast<uint16_t>(rank);
  options->host = self.host;
  options->port = self.port;
  return {};
}

}  // namespace

Result<ServerOptions> MakeServerOptions(const ClusterConfig& config) {
  ServerOptions options;
  options.cluster_id = config.cluster_id();
  options.cluster_name = config.name;
  options.host = config.server_host;
  options.port = config.server_port;
  options.lanes_per_server = {config.lanes};
  options.tables = {
      .memory_bytes_max = config.memory_bytes_max,
      .cold = config.cold ? config.data + "/cold" : "",
      .cold_bytes_max = config.cold_bytes_max,
      .policy = {.keep = config.cold_keep == "lfu" ? KeepPolicy::kLfu : KeepPolicy::kLru,
                 .admit_from = config.admit_from,
                 .ttl_steps = config.ttl_steps},
      .device = config.device,
      .gpu_memory_bytes = config.gpu_memory_bytes};
  options.queue_bytes_max = config.queue_bytes_max;
  options.shared_memory = config.server_shared_memory;
  options.data = config.data;
  options.log_bytes_max = config.log_bytes_max;
  options.checkpoints = config.checkpoints;
  options.checkpoints_kept = config.checkpoints_kept;
  options.http_host = config.http_host;
  options.http_port = config.http_port;
  options.shutdown_timeout = config.shutdown_timeout;
  options.loopback_only = !config.insecure;
  if (!config.machines.machines.empty()) STRATA_TRY(TakePlace(config, &options));
  const auto problems = ServerProblems(config, options.lanes_per_server[options.rank]);
  if (!problems.empty()) return Invalid(fmt::format("{}", fmt::join(problems, "\n")));
  if (!config.machines.machines.empty()) STRATA_TRY(CheckKeepsState(config));
  return options;
}

}  // namespace strata
