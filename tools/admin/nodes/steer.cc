// strata-admin ping, drain and shutdown.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/human_text.h"
#include "ps/client/control_call.h"
#include "tools/admin/commands.h"
#include "tools/admin/nodes/cluster_view.h"
#include "tools/admin/nodes/node_query.h"
#include "tools/admin/text/json_line.h"
#include "tools/admin/text/table_text.h"

namespace strata::admin {
namespace {

using Json = nlohmann::ordered_json;

// What became of one server that was asked to drain or to end.
struct Steered {
  NodeAnswer answer;
  bool late = false;  // it drains, but was not done in time; `answer` is how it is now
};

std::string StateOf(const Steered& server) {
  const NodeAnswer& answer = server.answer;
  if (answer.refused()) return "refused";
  if (answer.down()) return "down: " + ShortReason(answer.status);
  if (!server.late) return answer.node.state();
  return fmt::format("{}, {} of requests still wait", answer.node.state(),
                     HumanBytes(answer.node.server().queue_bytes()));
}

std::string Show(const Request& request, const std::vector<Steered>& servers) {
  Json json = Json::array();
  TableText table({{"server"}, {"address"}, {"state"}});
  for (const Steered& server : servers) {
    const NodeAnswer& answer = server.answer;
    table.AddRow({answer.Name(), answer.machine.Address(), StateOf(server)});
    Json one = {{"rank", answer.machine.rank},
                {"address", answer.machine.Address()},
                {"ok", answer.status.ok() && !server.late}};
    if (answer.status.ok()) {
      one["state"] = answer.node.state();
      one["queue_bytes"] = answer.node.server().queue_bytes();
    } else {
      one["error"] = answer.status.ToString();
    }
    json.push_back(std::move(one));
  }
  return request.output == Request::Output::kJson ? JsonLine({{"servers", std::move(json)}})
                                                  : table.ToString();
}

Status SteerVerdict(const std::vector<Steered>& servers, TimeNs drain_time) {
  std::vector<NodeAnswer> answers;
  std::vector<std::string> late;
  for (const Steered& server : servers) {
    answers.push_back(server.answer);
    if (server.late) late.push_back(server.answer.Name());
  }
  const Status verdict = Verdict(answers);
  if (late.empty()) return verdict;
  const std::string message = fmt::format(
      "the drain did not finish within {} on {}: new writes are refused there, but requests still "
      "wait for a synchronous step to close; ask again, or shut the servers down",
      HumanSeconds(static_cast<double>(drain_time) / kSecond), fmt::join(late, ", "));
  if (verdict.ok()) return Failed(message);
  return Status(verdict.code(), verdict.message() + "\n" + message);
}

// First sees within request.timeout who is there, so that a server that is gone costs no more than
// that; then gives the others the time to drain on top.
Status Steer(const Request& request, const ClusterConfig& config,
             const std::vector<Machine>& machines, const control::ControlRequest& message,
             std::string* out) {
  std::vector<Steered> servers;
  for (NodeAnswer& answer : AskStatus(config, machines, request.timeout)) {
    servers.push_back({.answer = std::move(answer)});
  }
  std::vector<Machine> present;
  for (const Steered& server : servers) {
    if (server.answer.status.ok()) present.push_back(server.answer.machine);
  }
  auto steered = AskServers(config, present, message, request.timeout + config.shutdown_timeout);
  auto next = steered.begin();
  for (Steered& server : servers) {
    if (!server.answer.status.ok()) continue;
    server.answer = std::move(*next++);
    if (server.answer.status.code() != StatusCode::kDeadlineExceeded) continue;
    server.late = true;
    server.answer = AskStatus(config, {server.answer.machine}, request.timeout).front();
  }
  *out = Show(request, servers);
  return SteerVerdict(servers, config.shutdown_timeout);
}

// What goes with servers that end: tables of those without a data folder.
std::string LossOf(const std::vector<NodeAnswer>& servers) {
  std::string loss;
  for (const NodeAnswer& answer : servers) {
    const control::ServerStatus& server = answer.node.server();
    if (!answer.status.ok()) {
      loss += fmt::format("; what {} holds is not known: {}", answer.Name(),
                          ShortReason(answer.status));
    } else if ((server.data().empty() || !server.data_lost().empty()) && server.tables() > 0) {
      loss += fmt::format("; {} {}: its part of {}, {}, is gone then", answer.Name(),
                          server.data().empty() ? "has no data folder" : "has lost its data folder",
                          Counted(server.tables(), "table"), Counted(server.rows(), "row"));
    }
  }
  return loss.empty() ? ", and nothing is lost" : loss;
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
  std::vector<NodeAnswer> answers;
  for (const Machine& machine : config.machines.Of(Role::kServer)) {
    const TimeNs start = clock.Now();
    const Result<wire::HelloReply> hello =
        CallHello(machine.Address(), config.cluster_id(), request.timeout);
    const double milliseconds = static_cast<double>(clock.Now() - start) / kMillisecond;
    const NodeAnswer answer = {.machine = machine, .status = hello.status(), .node = {}};
    Json server = {{"rank", machine.rank}, {"address", machine.Address()}, {"up", !answer.down()}};
    if (hello.ok()) {
      server["version"] = hello->server_version;
      server["milliseconds"] = milliseconds;
      table.AddRow({answer.Name(), machine.Address(), hello->server_version,
                    fmt::format("{:.1f}", milliseconds), ""});
    } else {
      server["error"] = hello.status().ToString();
      table.AddRow({answer.Name(), machine.Address(), "", "",
                    answer.refused() ? "refused" : ShortReason(hello.status())});
    }
    servers.push_back(std::move(server));
    answers.push_back(answer);
  }
  *out = request.output == Request::Output::kJson ? JsonLine({{"servers", std::move(servers)}})
                                                  : table.ToString();
  return Verdict(answers);
}

Status RunDrain(const Request& request, std::string* out) {
  STRATA_ASSIGN(const ClusterConfig config, LoadClusterConfig(request));
  std::vector<Machine> servers = config.machines.Of(Role::kServer);
  if (request.only_server >= static_cast<int>(servers.size())) {
    return Invalid(fmt::format("--rank: expected a server of the machine list, 0 to {}, found {}",
                               servers.size() - 1, request.only_server));
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
    const std::string loss = LossOf(AskStatus(config, servers, request.timeout));
    return Refused(fmt::format("this ends {}{}; to do it, add --yes",
                               Counted(servers.size(), "server"), loss));
  }
  control::ControlRequest message;
  message.mutable_shutdown()->set_timeout_ms(MillisecondsOf(config.shutdown_timeout));
  return Steer(request, config, servers, message, out);
}

}  // namespace strata::admin
