#include "cluster/config_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/file/text_file.h"
#include "cluster/names/resolve.h"
#include "cluster/tls/tls_context.h"

namespace strata {
namespace {

constexpr uint64_t kConfigBytesMax = 1ULL << 20;
constexpr int kLanesMax = 1024;  // one for each shard

class Checker {
 public:
  Checker(Disk& disk, TimeNs resolve_timeout) : disk_(disk), resolve_timeout_(resolve_timeout) {}

  void File(const std::string& path) {
    auto text = ReadTextFile(disk_, path, kConfigBytesMax);
    if (!text.ok()) {
      report_.problems.push_back(fmt::format("{}: {}", path, text.status().message()));
      return;
    }
    Settings settings(ClusterSettingsTable());
    if (const Status loaded = settings.LoadToml(*text, path, true); !loaded.ok()) {
      Add(loaded);
      all_read_ = false;
    }
    auto config = MakeClusterConfig(settings, disk_);
    if (!config.ok()) {
      Add(config.status());
      return;
    }
    report_.config = std::move(config).value();
    Tls();
    Servers();
    Machines();
  }

  ClusterConfigReport Take() { return std::move(report_); }

 private:
  void Add(const Status& status) {
    std::string_view text = status.message();
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      report_.problems.emplace_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  void Add(const Machine& machine, const std::string& problem) {
    const std::string where =
        machine.line == 0
            ? machine.Address()  // of a setting, not of the list
            : fmt::format("{}:{}:{}", report_.config.machines.file, machine.line, machine.column);
    report_.problems.push_back(fmt::format("{}: {}", where, problem));
  }

  // Of the machine on which this runs; others may have other files at the same paths.
  void Tls() {
    const auto loaded = TlsContext::Load(report_.config.tls, disk_);
    if (!loaded.ok()) {
      Add(loaded.status().Prefixed(report_.config.origins.find("tls.certificate")->second));
    }
  }

  // Several servers of one file have a data folder each, by a flag.
  void Servers() {
    const std::vector<Machine> servers = report_.config.machines.Of(Role::kServer);
    int lanes = report_.config.lanes;
    if (!servers.empty()) lanes = std::ranges::max(servers, {}, &Machine::lanes).lanes;
    ClusterConfig started = report_.config;
    const bool by_flag = servers.size() > 1 && !started.memory_only;
    if (by_flag && started.data.empty()) started.data = "--data";
    for (std::string& problem : ServerProblems(started, lanes)) {
      report_.problems.push_back(std::move(problem));
    }
  }

  void Machines() {
    int lanes = 0;
    for (const Machine& machine : report_.config.machines.machines) {
      Resolve(machine);
      if (machine.role != Role::kServer) continue;
      if (lanes <= kLanesMax && lanes + machine.lanes > kLanesMax) {
        Add(machine, fmt::format("the servers up to here have more than {} lanes, but there are "
                                 "only {} shards; give them fewer",
                                 kLanesMax, kLanesMax));
      }
      lanes += machine.lanes;
    }
  }

  void Resolve(const Machine& machine) {
    const auto addresses = ResolveHost(machine.host, resolve_timeout_);
    if (!addresses.ok()) {
      Add(machine, addresses.status().message());
      return;
    }
    for (const std::string& address : *addresses) {
      const auto [at, is_new] = owners_.emplace(std::pair(address, machine.port), machine.line);
      if (!is_new && at->second != machine.line) {
        Add(machine, fmt::format("{} is {} port {}, as is line {}; each process needs a port of "
                                 "its own",
                                 machine.Address(), address, machine.port, at->second));
        break;
      }
    }
    // A key that could not be read may have been the one that allows it.
    const bool known = all_read_ && !report_.config.insecure;
    if (known && !std::ranges::all_of(*addresses, IsLoopback)) Exposed(machine);
  }

  void Exposed(const Machine& machine) {
    if (machine.role == Role::kServer) {
      Add(machine, fmt::format("the server {} would listen beyond loopback and be refused; set "
                               "insecure = true under [cluster] on a network you trust{}",
                               machine.Address(),
                               report_.config.tls.empty() ? "" : " ([tls] is for workers alone)"));
    } else if (report_.config.secret.empty() && report_.config.tls.empty()) {
      Add(machine,
          fmt::format("the worker {} would listen beyond loopback with neither secret nor TLS and "
                      "be refused; set secret_file under [cluster], or certificate, key and ca "
                      "under [tls]",
                      machine.Address()));
    }
  }

  Disk& disk_;
  TimeNs resolve_timeout_;
  ClusterConfigReport report_;
  bool all_read_ = true;                                    // the file itself had no errors
  std::map<std::pair<std::string, uint16_t>, int> owners_;  // address and port -> line
};

}  // namespace

ClusterConfigReport CheckClusterConfig(const std::string& path, Disk& disk,
                                       TimeNs resolve_timeout) {
  Checker checker(disk, resolve_timeout);
  checker.File(path);
  return checker.Take();
}

}  // namespace strata
