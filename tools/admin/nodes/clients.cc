// strata-admin clients and clients evict: who has a place among the clients that write.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/human_text.h"
#include "tools/admin/commands.h"
#include "tools/admin/nodes/cluster_view.h"
#include "tools/admin/nodes/node_query.h"
#include "tools/admin/text/json_line.h"
#include "tools/admin/text/table_text.h"

namespace strata::admin {
namespace {

using Json = nlohmann::ordered_json;

Json JsonOf(const NodeAnswer& answer, const control::ClientStatus& client) {
  return {{"server", answer.machine.rank},
          {"lane", client.lane()},
          {"client", client.id()},
          {"connected", client.connected()},
          {"idle_seconds", client.idle_seconds()},
          {"pending", client.pending()},
          {"unsettled", client.unsettled()},
          {"credit_bytes", client.credit()}};
}

std::string Show(const Request& request, const std::vector<NodeAnswer>& answers) {
  using enum TableText::Align;
  Json clients = Json::array();
  TableText table({{"server"},
                   {"lane", kRight},
                   {"client"},
                   {"connected"},
                   {"idle", kRight},
                   {"pending", kRight},
                   {"unsettled", kRight},
                   {"credit", kRight}});
  for (const NodeAnswer& answer : answers) {
    for (const control::ClientStatus& client : answer.node.server().client()) {
      clients.push_back(JsonOf(answer, client));
      table.AddRow({answer.Name(), std::to_string(client.lane()), client.id(),
                    client.connected() ? "yes" : "no", HumanSeconds(client.idle_seconds()),
                    std::to_string(client.pending()), std::to_string(client.unsettled()),
                    HumanBytes(client.credit())});
    }
  }
  return request.output == Request::Output::kJson ? JsonLine({{"clients", std::move(clients)}})
                                                  : table.ToString();
}

Result<std::vector<NodeAnswer>> Ask(const Request& request) {
  STRATA_ASSIGN(const ClusterConfig config, LoadClusterConfig(request));
  control::ControlRequest message;
  message.mutable_clients()->set_evict(request.client);
  return AskServers(config, config.machines.Of(Role::kServer), message, request.timeout);
}

}  // namespace

Status RunClients(const Request& request, std::string* out) {
  STRATA_ASSIGN(const std::vector<NodeAnswer> answers, Ask(request));
  *out = Show(request, answers);
  return Verdict(answers);
}

Status RunClientsEvict(const Request& request, std::string* out) {
  STRATA_ASSIGN(std::vector<NodeAnswer> answers, Ask(request));
  const auto does_not_know = [](const NodeAnswer& answer) {
    return answer.status.code() == StatusCode::kNotFound;
  };
  if (std::ranges::all_of(answers, does_not_know)) {
    return NotFound(fmt::format("client {} has no place on any server; see strata-admin clients",
                                Printable(request.client)));
  }
  std::erase_if(answers, does_not_know);
  for (const NodeAnswer& answer : answers) {
    if (answer.status.code() == StatusCode::kInvalid) return answer.status;
  }
  std::vector<std::string> names;
  for (const NodeAnswer& answer : answers) {
    if (answer.status.ok()) names.push_back(answer.Name());
  }
  *out = request.output == Request::Output::kJson
             ? Show(request, answers)
             : fmt::format("evicted client {} from {}\n", Printable(request.client),
                           fmt::join(names, ", "));
  return Verdict(answers);
}

}  // namespace strata::admin
