#include "tools/admin/node_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <thread>

#include "ps/client/control_call.h"

namespace strata::admin {
namespace {

constexpr size_t kThreadsMax = 64;
constexpr size_t kReasonCharsMax = 120;

Result<std::string> Call(const ClusterConfig& config, const Machine& machine,
                         const std::string& body, TimeNs timeout) {
  const auto bytes = std::as_bytes(std::span(body));
  STRATA_ASSIGN(const std::vector<std::byte> reply,
                CallControl(machine.Address(), config.cluster_id(), bytes, timeout));
  return std::string(reinterpret_cast<const char*>(reply.data()), reply.size());
}

void Ask(const ClusterConfig& config, const std::string& body, TimeNs timeout, NodeAnswer* answer) {
  const Result<std::string> reply = Call(config, answer->machine, body, timeout);
  if (!reply.ok()) {
    answer->status = reply.status();
    return;
  }
  control::ControlReply message;
  if (!message.ParseFromString(*reply)) {
    answer->status = Corrupt(fmt::format("{} sent {} bytes that are no control reply",
                                         answer->machine.Address(), reply->size()));
    return;
  }
  answer->node = message.status();
}

}  // namespace

std::string NodeAnswer::Name() const {
  return fmt::format("{} {}", RoleName(machine.role), machine.rank);
}

std::vector<NodeAnswer> AskNodes(const ClusterConfig& config, const std::vector<Machine>& machines,
                                 const control::ControlRequest& request, TimeNs timeout) {
  std::vector<NodeAnswer> answers;
  for (const Machine& machine : machines)
    answers.push_back({.machine = machine, .status = {}, .node = {}});
  const std::string body = request.SerializeAsString();
  std::atomic<size_t> next{0};
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < std::min(machines.size(), kThreadsMax); ++i) {
    threads.emplace_back([&] {
      for (size_t n = next++; n < answers.size(); n = next++)
        Ask(config, body, timeout, &answers[n]);
    });
  }
  threads.clear();  // joins
  return answers;
}

std::vector<NodeAnswer> AskStatus(const ClusterConfig& config, const std::vector<Machine>& machines,
                                  TimeNs timeout) {
  control::ControlRequest request;
  request.mutable_status();
  return AskNodes(config, machines, request, timeout);
}

Status Verdict(const std::vector<NodeAnswer>& answers) {
  std::vector<std::string> down;
  Status refused;
  for (const NodeAnswer& answer : answers) {
    if (answer.status.ok()) continue;
    if (answer.status.code() == StatusCode::kRefused)
      refused = answer.status.Prefixed(answer.Name());
    down.push_back(fmt::format("{} ({})", answer.Name(), answer.machine.Address()));
  }
  if (down.empty()) return {};
  if (down.size() == 1 && !refused.ok()) return refused;
  return Lost(fmt::format("{} of {} nodes are down: {}", down.size(), answers.size(),
                          fmt::join(down, ", ")));
}

std::string ShortReason(const Status& status) {
  std::string reason = status.message().substr(0, status.message().find('\n'));
  if (reason.size() > kReasonCharsMax) reason = reason.substr(0, kReasonCharsMax) + "...";
  return reason;
}

}  // namespace strata::admin
