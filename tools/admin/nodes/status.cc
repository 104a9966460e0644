// strata-admin status: every node of the machine list, up or down, and what it is doing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/human_text.h"
#include "tools/admin/commands.h"
#include "tools/admin/nodes/cluster_view.h"
#include "tools/admin/nodes/node_query.h"
#include "tools/admin/text/json_line.h"
#include "tools/admin/text/table_text.h"

namespace strata::admin {
namespace {

using Json = nlohmann::ordered_json;

uint64_t LogBytes(const control::ServerStatus& server) {
  uint64_t bytes = 0;
  for (const control::LaneStatus& lane : server.lane()) bytes += lane.log_bytes();
  return bytes;
}

// Why lanes refuse writes with DISK_FULL: of the first that does; "" when none does.
std::string NoRoom(const control::ServerStatus& server) {
  for (const control::LaneStatus& lane : server.lane()) {
    if (!lane.no_room().empty()) return lane.no_room();
  }
  return {};
}

// 0 to 1, how much of its state a server that starts again has back; 1: it serves.
double Recovered(const control::ServerStatus& server) {
  if (server.lane().empty()) return 1;
  double sum = 0;
  for (const control::LaneStatus& lane : server.lane()) sum += lane.recovered();
  return sum / server.lane_size();
}

uint64_t ColdRows(const control::ServerStatus& server) {
  uint64_t rows = 0;
  for (const control::TableStatus& table : server.table()) rows += table.cold_rows();
  return rows;
}

Json ToJson(const control::ServerStatus& server) {
  return {{"lanes", server.lanes()},
          {"shards", server.shards()},
          {"tables", server.tables()},
          {"rows", server.rows()},
          {"cold_rows", ColdRows(server)},
          {"table_bytes", server.table_bytes()},
          {"pulled_keys", server.pulled_keys()},
          {"pushed_keys", server.pushed_keys()},
          {"requests", server.requests()},
          {"queue_bytes", server.queue_bytes()},
          {"clients", server.clients()},
          {"log_bytes", LogBytes(server)},
          {"recovered", Recovered(server)},
          {"disk_full", NoRoom(server)},
          {"data_lost", server.data_lost()},
          {"device", server.device()}};
}

Json ToJson(const control::WorkerStatus& worker) {
  return {{"job", worker.job()},
          {"task", worker.task()},
          {"world", worker.world()},
          {"epoch", worker.epoch()},
          {"step", worker.step()},
          {"progress", worker.progress()},
          {"samples", worker.samples()},
          {"samples_per_second", worker.samples_per_second()},
          {"loss", worker.loss()},
          {"auc", worker.auc()},
          {"eta_seconds", worker.eta_seconds()},
          {"waits_for", worker.waits_for()},
          {"wait_seconds", worker.wait_seconds()}};
}

// By name, all tables of the cluster.
using TableNames = std::set<std::string>;

TableNames TablesOf(const NodeAnswer& answer) {
  TableNames names;
  for (const control::TableStatus& table : answer.node.server().table()) names.insert(table.name());
  return names;
}

TableNames AllTables(const std::vector<NodeAnswer>& answers) {
  TableNames names;
  for (const NodeAnswer& answer : answers) names.merge(TablesOf(answer));
  return names;
}

// Returns the tables that other servers have and this one has not. It came back without its data,
// or a table is being created or dropped. A server that is still reading its log is missing none.
std::vector<std::string> MissingTables(const NodeAnswer& answer, const TableNames& all) {
  if (!answer.node.has_server() || Recovered(answer.node.server()) < 1) return {};
  std::vector<std::string> missing;
  std::ranges::set_difference(all, TablesOf(answer), std::back_inserter(missing));
  return missing;
}

Json ToJson(const NodeAnswer& answer, const TableNames& all_tables) {
  Json node = {{"role", RoleName(answer.machine.role)},
               {"rank", answer.machine.rank},
               {"address", answer.machine.Address()},
               {"up", !answer.down()}};
  if (answer.refused()) node["state"] = "refused";
  if (!answer.status.ok()) {
    node["error"] = answer.status.ToString();
    return node;
  }
  const control::NodeStatus& status = answer.node;
  node["state"] = status.state();
  node["version"] = status.version();
  if (status.has_server()) node["incarnation"] = fmt::format("{:016x}", status.incarnation());
  node["uptime_seconds"] = status.uptime_seconds();
  node["memory_bytes"] = status.memory_bytes();
  node["http"] = status.http();
  node["pid"] = status.pid();
  if (status.has_server()) {
    node["server"] = ToJson(status.server());
    node["server"]["missing_tables"] = MissingTables(answer, all_tables);
  }
  if (status.has_worker()) node["worker"] = ToJson(status.worker());
  return node;
}

std::string Details(const control::NodeStatus& status) {
  if (status.has_server()) {
    const control::ServerStatus& server = status.server();
    std::string rows = Counted(server.rows(), "row");
    if (const uint64_t cold = ColdRows(server); cold != 0) {
      rows += fmt::format(" ({} on disk)", HumanCount(cold));
    }
    std::string details =
        fmt::format("{}, {}, {}; {} pulled, {} pushed", Counted(server.tables(), "table"), rows,
                    HumanBytes(server.table_bytes()), Counted(server.pulled_keys(), "key"),
                    HumanCount(server.pushed_keys()));
    if (const uint64_t log = LogBytes(server); log != 0) details += "; log " + HumanBytes(log);
    if (const double recovered = Recovered(server); recovered < 1) {
      details = fmt::format("{:.0f} % of its state is back; {}", 100 * recovered, details);
    }
    if (!server.data_lost().empty()) details = "writes refused: " + server.data_lost();
    if (!NoRoom(server).empty()) details = "disk full: writes refused; " + details;
    return details;
  }
  const control::WorkerStatus& worker = status.worker();
  std::string details =
      fmt::format("{} {} %, {} samples/s", worker.job(), WholePercent(worker.progress()),
                  HumanRate(worker.samples_per_second()));
  if (worker.loss() > 0) details += fmt::format(", loss {:.4f}", worker.loss());
  if (worker.auc() > 0) details += fmt::format(", AUC {:.4f}", worker.auc());
  if (worker.eta_seconds() > 0) details += ", ETA " + HumanSeconds(worker.eta_seconds());
  if (!worker.waits_for().empty()) details = worker.waits_for() + "; " + details;
  return details;
}

std::string ToText(const std::vector<NodeAnswer>& answers, const TableNames& all_tables) {
  using enum TableText::Align;
  TableText table({{"node"},
                   {"address"},
                   {"up"},
                   {"state"},
                   {"device"},
                   {"uptime", kRight},
                   {"memory", kRight},
                   {"details"}});
  for (const NodeAnswer& answer : answers) {
    if (answer.refused()) {  // why stands below the table, in full
      table.AddRow({answer.Name(), answer.machine.Address(), "up", "refused", "", "", "", ""});
      continue;
    }
    if (answer.down()) {
      table.AddRow({answer.Name(), answer.machine.Address(), "down", "", "", "", "",
                    ShortReason(answer.status)});
      continue;
    }
    const control::NodeStatus& status = answer.node;
    std::string details = Details(status);
    if (const auto missing = MissingTables(answer, all_tables); !missing.empty()) {
      details = fmt::format("{} missing; {}", Counted(missing.size(), "table"), details);
    }
    table.AddRow({answer.Name(), answer.machine.Address(), "up", status.state(),
                  status.server().device(), HumanSeconds(status.uptime_seconds()),
                  status.memory_bytes() == 0 ? "" : HumanBytes(status.memory_bytes()),
                  std::move(details)});
  }
  return table.ToString();
}

// Between two jobs no worker runs, and nothing is wrong with that.
std::vector<NodeAnswer> WithoutIdleWorkers(std::vector<NodeAnswer> answers) {
  const auto is_worker = [](const NodeAnswer& answer) {
    return answer.machine.role == Role::kWorker;
  };
  const bool idle = std::ranges::all_of(
      answers, [&](const NodeAnswer& answer) { return !is_worker(answer) || answer.down(); });
  if (idle) std::erase_if(answers, is_worker);
  return answers;
}

// A server without its data folder answers, and takes no writes. One that came back without its
// data answers as if it were new.
Status CheckData(const std::vector<NodeAnswer>& answers, const TableNames& all_tables) {
  std::vector<std::string> lines;
  for (const NodeAnswer& answer : answers) {
    const std::string& lost = answer.node.server().data_lost();
    if (!lost.empty()) lines.push_back(Printable(fmt::format("{}: {}", answer.Name(), lost)));
    const std::vector<std::string> missing = MissingTables(answer, all_tables);
    if (missing.empty()) continue;
    lines.push_back(Printable(fmt::format(
        "{} does not have {} {}, which other servers have: start it with its data "
        "folder, restore a checkpoint, or create or drop the table again",
        answer.Name(), missing.size() == 1 ? "table" : "tables", fmt::join(missing, ", "))));
  }
  return lines.empty() ? Status() : Lost(fmt::format("{}", fmt::join(lines, "\n")));
}

}  // namespace

Status RunStatus(const Request& request, std::string* out) {
  STRATA_ASSIGN(const ClusterConfig config, LoadClusterConfig(request));
  STRATA_ASSIGN(const std::vector<Machine> machines,
                AllNodes(config, request.rendezvous, request.timeout));
  const auto is_worker = [](const Machine& machine) { return machine.role == Role::kWorker; };
  if (request.expect_workers && std::ranges::none_of(machines, is_worker)) {
    return Invalid(
        "--expect-workers: the cluster's machine list names no worker: add their lines, or say "
        "where they meet by --rendezvous=host:port");
  }
  const std::vector<NodeAnswer> answers = AskStatus(config, machines, request.timeout);
  const TableNames all_tables = AllTables(answers);
  if (request.output == Request::Output::kJson) {
    Json nodes = Json::array();
    for (const NodeAnswer& answer : answers) nodes.push_back(ToJson(answer, all_tables));
    *out = JsonLine({{"cluster", config.name}, {"nodes", std::move(nodes)}});
  } else {
    *out = ToText(answers, all_tables);
  }
  STRATA_TRY(Verdict(request.expect_workers ? answers : WithoutIdleWorkers(answers)));
  return CheckData(answers, all_tables);
}

}  // namespace strata::admin
