// strata-admin ping, drain and shutdown.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "ps/client/control_call.h"
#include "tools/admin/cluster_view.h"
#include "tools/admin/commands.h"
#include "tools/admin/json_line.h"
#include "tools/admin/node_query.h"
#include "tools/admin/table_text.h"

namespace strata::admin {
namespace {

using Json = nlohmann::ordered_json;

struct Ping {
  Machine machine;
  Status status;
  double milliseconds = 0;
};

// What became of the servers, as table or JSON.
std::string Show(const Request& request, const std::vector<NodeAnswer>& answers) {
  if (request.output == Request::Output::kJson) {
    Json servers = Json::array();
    for (const NodeAnswer& answer : answers) {
      Json server = {{"rank", answer.machine.rank},
                     {"address", answer.machine.Address()},
                     {"ok", answer.status.ok()}};
      if (answer.status.ok()) server["state"] = answer.node.state();
      if (!answer.status.ok()) server["error"] = answer.status.ToString();
      servers.push_back(std::move(server));
    }
    return JsonLine({{"servers", std::move(servers)}});
  }
  TableText table({{"server"}, {"address"}, {"state"}});
  for (const NodeAnswer& answer : answers) {
    table.AddRow({answer.Name(), answer.machine.Address(),
                  answer.status.ok() ? answer.node.state() : ShortReason(answer.status)});
  }
  return table.ToString();
}

Status Steer(const Request& request, const ClusterConfig& config,
             const std::vector<Machine>& servers, const control::ControlRequest& message,
             std::string* out) {
  // The node itself gives up after its share of the time, so that its answer still comes in time.
  const std::vector<NodeAnswer> answers =
      AskServers(config, servers, message, request.timeout + config.shutdown_timeout);
  *out = Show(request, answers);
  return Verdict(answers);
}

uint32_t MillisecondsOf(TimeNs duration) {
  return static_cast<uint32_t>(std::min<TimeNs>(duration / kMillisecond, UINT32_MAX));
}

}  // namespace

Status RunPing(const Request& request, std::string* out) {
  STRATA_ASSIGN(const ClusterConfig config, LoadClusterConfig(request));
  const Clock& clock = RealClock();
  Json servers = Json::array();
  TableText table(
      {{"server"}, {"address"}, {"version"}, {"ms", TableText::Align::kRight}, {"error"}});
  Status first_error;
  for (const Machine& machine : config.machines.Of(Role::kServer)) {
    const TimeNs start = clock.Now();
    const Result<wire::HelloReply> hello =
        CallHello(machine.Address(), config.cluster_id(), request.timeout);
    const double milliseconds = static_cast<double>(clock.Now() - start) / kMillisecond;
    const std::string name = fmt::format("server {}", machine.rank);
    Json server = {{"rank", machine.rank}, {"address", machine.Address()}, {"up", hello.ok()}};
    if (hello.ok()) {
      server["version"] = hello->server_version;
      server["milliseconds"] = milliseconds;
      table.AddRow({name, machine.Address(), hello->server_version,
                    fmt::format("{:.1f}", milliseconds), ""});
    } else {
      server["error"] = hello.status().ToString();
      table.AddRow({name, machine.Address(), "", "", ShortReason(hello.status())});
      if (first_error.ok()) first_error = hello.status().Prefixed(name);
    }
    servers.push_back(std::move(server));
  }
  *out = request.output == Request::Output::kJson ? JsonLine({{"servers", std::move(servers)}})
                                                  : table.ToString();
  return first_error;
}

Status RunDrain(const Request& request, std::string* out) {
  STRATA_ASSIGN(const ClusterConfig config, LoadClusterConfig(request));
  std::vector<Machine> servers = config.machines.Of(Role::kServer);
  if (request.only_server >= static_cast<int>(servers.size())) {
    return Invalid(fmt::format("--rank={}: the machine list has {} servers, 0 to {}",
                               request.only_server, servers.size(), servers.size() - 1));
  }
  if (request.only_server >= 0) servers = {servers[static_cast<size_t>(request.only_server)]};
  control::ControlRequest message;
  message.mutable_drain()->set_timeout_ms(MillisecondsOf(config.shutdown_timeout));
  return Steer(request, config, servers, message, out);
}

Status RunShutdown(const Request& request, std::string* out) {
  STRATA_ASSIGN(const ClusterConfig config, LoadClusterConfig(request));
  const std::vector<Machine> servers = config.machines.Of(Role::kServer);
  if (!request.yes) {
    return Refused(fmt::format(
        "this ends {} servers, and what they keep in memory is gone; to do it, add --yes",
        servers.size()));
  }
  control::ControlRequest message;
  message.mutable_shutdown()->set_timeout_ms(MillisecondsOf(config.shutdown_timeout));
  return Steer(request, config, servers, message, out);
}

}  // namespace strata::admin
