#include "tools/admin/tables/store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include "tools/admin/nodes/cluster_view.h"
#include "tools/admin/nodes/node_query.h"
#include "tools/admin/text/table_text.h"

namespace strata::admin {

namespace {

// A server may be busy for some seconds.
constexpr TimeNs kServerLostAfterMin = 5 * kSecond;
constexpr size_t kNamedKeys = 8;

// How each server of the request's cluster is.
struct AskedServers {
  ClusterConfig config;
  std::vector<NodeAnswer> answers;
};

Result<AskedServers> Ask(const Request& request) {
  STRATA_ASSIGN(ClusterConfig config, LoadClusterConfig(request));
  auto answers = AskStatus(config, config.machines.Of(Role::kServer), request.timeout);
  return AskedServers{std::move(config), std::move(answers)};
}

}  // namespace

Result<std::unique_ptr<RemoteStore>> ConnectStore(const ClusterConfig& config, TimeNs timeout,
                                                  const std::vector<uint16_t>& absent) {
  RemoteStoreOptions options;
  options.absent = absent;
  for (const Machine& machine : config.machines.Of(Role::kServer)) {
    options.servers.push_back(machine.Address());
  }
  options.cluster_id = config.cluster_id();
  options.client_name = "strata-admin";
  options.shared_memory = false;  // for a few messages it is not worth a line about it
  options.connect_timeout = timeout;
  options.request_timeout = timeout;
  options.server_lost_after = std::max(timeout, kServerLostAfterMin);
  options.request_timeout_name = "--timeout";
  return RemoteStore::Connect(options);
}

Result<std::unique_ptr<RemoteStore>> ConnectStore(const Request& request) {
  STRATA_ASSIGN(const AskedServers servers, Ask(request));
  STRATA_TRY(Verdict(servers.answers));
  return ConnectStore(servers.config, request.timeout);
}

Result<std::unique_ptr<RemoteStore>> ConnectForAll(const Request& request) {
  STRATA_ASSIGN(const AskedServers servers, Ask(request));
  STRATA_TRY(Verdict(servers.answers));
  for (const NodeAnswer& answer : servers.answers) {
    const std::string& lost = answer.node.server().data_lost();
    if (lost.empty() && answer.node.state() != "draining") continue;
    return Refused(Printable(fmt::format(
        "nothing was done, as {} ({}) takes no writes: {}", answer.Name(), answer.machine.Address(),
        lost.empty() ? "it drains, until it is started again" : lost)));
  }
  return ConnectStore(servers.config, request.timeout);
}

Result<ReachableStore> ConnectReachable(const Request& request) {
  STRATA_ASSIGN(const AskedServers servers, Ask(request));
  const auto& [config, answers] = servers;
  ReachableStore reachable{.store = nullptr, .absent = {}, .verdict = Verdict(answers)};
  for (const NodeAnswer& answer : answers) {
    if (answer.refused()) return reachable.verdict;
    if (answer.down()) reachable.absent.push_back(static_cast<uint16_t>(answer.machine.rank));
  }
  if (reachable.absent.size() == answers.size()) return reachable.verdict;
  STRATA_ASSIGN(reachable.store, ConnectStore(config, request.timeout, reachable.absent));
  return reachable;
}

std::vector<Key> ReachableStore::Reachable(const std::vector<Key>& keys) const {
  if (absent.empty()) return keys;
  const wire::ShardMap map = store->Map();
  std::vector<Key> reachable;
  std::ranges::copy_if(keys, std::back_inserter(reachable), [&](const Key key) {
    const uint16_t server = map.lanes[map.owner[wire::ShardOf(key)]].server;
    return std::ranges::find(absent, server) == absent.end();
  });
  return reachable;
}

Status ReachableStore::CheckAllReachable(const std::vector<Key>& keys) const {
  const std::vector<Key> reachable = Reachable(keys);
  if (reachable.size() == keys.size()) return {};
  const std::set<Key> answered(reachable.begin(), reachable.end());
  std::vector<Key> others;
  std::ranges::copy_if(keys, std::back_inserter(others),
                       [&](const Key key) { return !answered.contains(key); });
  const size_t named = std::min(others.size(), kNamedKeys);
  return Status(
      verdict.code(),
      fmt::format("{}\nnot answered: {} {}{}", verdict.message(),
                  others.size() == 1 ? "key" : "keys",
                  fmt::join(std::span(others).first(named), ", "),
                  named < others.size() ? fmt::format(" and {} more", others.size() - named) : ""));
}

Result<TableSpec> FindTable(TableStore& store, const std::string& name) {
  STRATA_ASSIGN(const std::vector<TableSpec> specs, store.ListTables());
  const auto found = std::ranges::find(specs, name, &TableSpec::name);
  if (found != specs.end()) return *found;
  return NotFound(fmt::format("there is no table '{}'; see strata-admin tables", name));
}

Result<TableSpec> FindTable(const ReachableStore& reachable, const std::string& name) {
  Result<TableSpec> found = FindTable(*reachable.store, name);
  // A server that is down may have it.
  if (found.status().code() == StatusCode::kNotFound) STRATA_TRY(reachable.verdict);
  return found;
}

}  // namespace strata::admin
