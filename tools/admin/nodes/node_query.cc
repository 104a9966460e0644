#include "tools/admin/nodes/node_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <thread>

#include "base/human_text.h"
#include "cluster/link/connect/query.h"
#include "cluster/tls/tls_context.h"
#include "ps/client/control_call.h"
#include "tools/admin/text/table_text.h"

namespace strata::admin {
namespace {

constexpr size_t kThreadsMax = 64;
constexpr size_t kReasonCharsMax = 120;

Status Malformed(const Machine& machine, size_t bytes) {
  return Corrupt(fmt::format("{} sent {} bytes that are no status", machine.Address(), bytes));
}

// A server takes any request on its main port.
Result<control::NodeStatus> AskServer(const ClusterConfig& config, const Machine& machine,
                                      const control::ControlRequest& request, TimeNs timeout) {
  const std::string body = request.SerializeAsString();
  STRATA_ASSIGN(const std::vector<std::byte> bytes,
                CallControl(machine.Address(), config.cluster_id(), std::as_bytes(std::span(body)),
                            timeout, request.has_status()));
  control::ControlReply reply;
  if (!reply.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Malformed(machine, bytes.size());
  }
  return reply.status();
}

using Tls = Result<std::shared_ptr<const TlsContext>>;

// A worker tells its status on its link port.
Result<control::NodeStatus> AskWorker(const ClusterConfig& config, const Tls& tls,
                                      const Machine& machine, TimeNs timeout) {
  if (!tls.ok()) return Refused("it was not asked: " + tls.status().message());
  STRATA_ASSIGN(const std::string bytes,
                QueryStatus(machine.host, machine.port, config.secret, timeout, *tls));
  control::NodeStatus status;
  if (!status.ParseFromString(bytes)) return Malformed(machine, bytes.size());
  return status;
}

void Ask(const ClusterConfig& config, const Tls& tls, const control::ControlRequest& request,
         TimeNs timeout, NodeAnswer* answer) {
  Result<control::NodeStatus> node = answer->machine.role == Role::kServer
                                         ? AskServer(config, answer->machine, request, timeout)
                                         : AskWorker(config, tls, answer->machine, timeout);
  answer->status = node.status();
  if (node.ok()) answer->node = std::move(node).value();
}

std::vector<NodeAnswer> AskAll(const ClusterConfig& config, const std::vector<Machine>& machines,
                               const control::ControlRequest& request, TimeNs timeout) {
  std::vector<NodeAnswer> answers;
  for (const Machine& machine : machines) {
    answers.push_back({.machine = machine, .status = {}, .node = {}});
  }
  const bool any_worker = std::ranges::any_of(
      machines, [](const Machine& machine) { return machine.role == Role::kWorker; });
  const Tls tls =
      any_worker ? TlsContext::Load(config.tls) : Tls(std::shared_ptr<const TlsContext>());
  std::atomic<size_t> next{0};
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < std::min(machines.size(), kThreadsMax); ++i) {
    threads.emplace_back([&] {
      for (size_t n = next++; n < answers.size(); n = next++) {
        Ask(config, tls, request, timeout, &answers[n]);
      }
    });
  }
  threads.clear();  // joins
  return answers;
}

}  // namespace

std::string NodeAnswer::Name() const {
  return fmt::format("{} {}", RoleName(machine.role), machine.rank);
}

std::vector<NodeAnswer> AskServers(const ClusterConfig& config, const std::vector<Machine>& servers,
                                   const control::ControlRequest& request, TimeNs timeout) {
  return AskAll(config, servers, request, timeout);
}

std::vector<NodeAnswer> AskStatus(const ClusterConfig& config, const std::vector<Machine>& machines,
                                  TimeNs timeout) {
  control::ControlRequest request;
  request.mutable_status();
  return AskAll(config, machines, request, timeout);
}

Status Verdict(const std::vector<NodeAnswer>& answers) {
  std::vector<std::string> down;
  std::vector<std::string> lines;
  for (const NodeAnswer& answer : answers) {
    if (answer.down())
      down.push_back(fmt::format("{} ({})", answer.Name(), answer.machine.Address()));
    if (!answer.refused()) continue;
    lines.push_back(
        Printable(fmt::format("{} refused: {}", answer.Name(), answer.status.message())));
  }
  if (!down.empty()) {
    const bool is_one = down.size() == 1;
    const bool only_servers = std::ranges::all_of(
        answers, [](const NodeAnswer& answer) { return answer.machine.role == Role::kServer; });
    lines.insert(
        lines.begin(),
        fmt::format("{} of {} {} down: {}; see whether {} and can be reached at {}, or name others "
                    "with --server or --config",
                    down.size(), Counted(answers.size(), only_servers ? "server" : "node"),
                    is_one ? "is" : "are", fmt::join(down, ", "), is_one ? "it runs" : "they run",
                    is_one ? "this address" : "these addresses"));
  }
  if (lines.empty()) return {};
  const std::string message = fmt::format("{}", fmt::join(lines, "\n"));
  return down.empty() ? Refused(message) : Lost(message);
}

std::string ShortReason(const Status& status) {
  std::string reason = status.message().substr(0, status.message().find('\n'));
  if (reason.size() > kReasonCharsMax) reason = reason.substr(0, kReasonCharsMax) + "...";
  return reason;
}

}  // namespace strata::admin
