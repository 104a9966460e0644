#include "cluster/topology/launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "cluster/topology/host_pattern.h"

namespace strata {
namespace {

constexpr std::pair<std::string_view, Launcher> kNames[] = {
    {"slurm", Launcher::kSlurm},
    {"openmpi", Launcher::kOpenMpi},
    {"pmi", Launcher::kPmi},
    {"torchrun", Launcher::kTorchrun},
    {"kubernetes", Launcher::kKubernetes},
    {"none", Launcher::kNone},
};

// Variables of one source. The first of a list that is set counts.
struct Source {
  Launcher launcher;
  std::vector<std::string_view> rank;
  std::vector<std::string_view> world;
  // Without all of these kAuto leaves the source alone.
  std::vector<std::string_view> besides = {};
};

std::vector<Source> Sources() {
  return {
      {Launcher::kSlurm, {"SLURM_PROCID"}, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}},
      {Launcher::kOpenMpi, {"OMPI_COMM_WORLD_RANK"}, {"OMPI_COMM_WORLD_SIZE"}},
      {Launcher::kPmi, {"PMI_RANK"}, {"PMI_SIZE"}},
      {Launcher::kPmi, {"PMIX_RANK"}, {}},
      {Launcher::kTorchrun, {"RANK"}, {"WORLD_SIZE"}, {"WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}},
      {Launcher::kKubernetes, {"JOB_COMPLETION_INDEX"}, {}}};
}

struct Variable {
  std::string_view name;
  std::string_view value;
};

std::optional<Variable> FirstOf(const Environment& variables,
                                std::span<const std::string_view> names) {
  for (std::string_view name : names) {
    const auto at = variables.find(name);
    if (at != variables.end()) return Variable{at->first, at->second};
  }
  return std::nullopt;
}

std::optional<int> ParseNumber(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

Result<int> NumberOf(const Variable& variable, int min) {
  const auto value = ParseNumber(variable.value);
  if (value && *value >= min) return *value;
  return Invalid(
      fmt::format("{} is '{}': expected a number from {} on; --launcher=none leaves the "
                  "launcher's variables alone",
                  variable.name, variable.value, min));
}

Result<std::optional<LaunchPlace>> Read(const Environment& variables, const Source& source) {
  const auto rank = FirstOf(variables, source.rank);
  if (!rank) return std::optional<LaunchPlace>();
  LaunchPlace place{.source = std::string(rank->name), .rank = 0, .world = {}};
  STRATA_ASSIGN(place.rank, NumberOf(*rank, 0));
  if (source.world.empty()) return std::optional(place);
  const auto world = FirstOf(variables, source.world);
  if (!world) {
    return Invalid(fmt::format("{} is set, but {} is not: expected both of a launcher",
                               place.source, source.world.back()));
  }
  STRATA_ASSIGN(place.world, NumberOf(*world, 1));
  if (place.rank >= *place.world) {
    return Invalid(fmt::format("{} is {}: expected a rank below {}, which is {}", place.source,
                               place.rank, world->name, *place.world));
  }
  return std::optional(place);
}

std::string Said(const LaunchPlace& place) {
  return place.world ? fmt::format("{} says rank {} of {}", place.source, place.rank, *place.world)
                     : fmt::format("{} says rank {}", place.source, place.rank);
}

bool Agree(const LaunchPlace& a, const LaunchPlace& b) {
  return a.rank == b.rank && (!a.world || !b.world || *a.world == *b.world);
}

// "trainer-12.trainer.default.svc" -> "trainer" and 12.
struct Pod {
  std::string_view set;
  int ordinal = 0;
};

std::optional<Pod> PodOf(std::string_view host) {
  host = host.substr(0, host.find('.'));
  const size_t dash = host.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  const std::string_view number = host.substr(dash + 1);
  const auto ordinal = ParseNumber(number);
  if (!ordinal || (number.size() > 1 && number[0] == '0')) return std::nullopt;
  return Pod{host.substr(0, dash), *ordinal};
}

std::optional<LaunchPlace> OrdinalOf(const Environment& variables, std::string_view pod,
                                     std::span<const std::string> named_hosts) {
  const auto mine = PodOf(pod);
  if (!mine || !variables.contains("KUBERNETES_SERVICE_HOST")) return std::nullopt;
  const bool of_set = std::ranges::any_of(named_hosts, [&](const std::string& host) {
    const auto other = PodOf(host);
    return other && other->set == mine->set;
  });
  if (!of_set) return std::nullopt;
  return LaunchPlace{
      .source = fmt::format("the host name {}", pod), .rank = mine->ordinal, .world = {}};
}

}  // namespace

Launcher ParseLauncher(std::string_view name) {
  for (const auto& [known, launcher] : kNames) {
    if (known == name) return launcher;
  }
  return Launcher::kAuto;
}

Result<std::optional<LaunchPlace>> FindLaunchPlace(const Environment& variables, Launcher launcher,
                                                   std::string_view pod,
                                                   std::span<const std::string> named_hosts) {
  if (launcher == Launcher::kNone) return std::optional<LaunchPlace>();
  std::optional<LaunchPlace> found;
  std::string tried;
  for (const Source& source : Sources()) {
    if (launcher != Launcher::kAuto && launcher != source.launcher) continue;
    const bool speaks = std::ranges::all_of(
        source.besides, [&](std::string_view name) { return variables.contains(name); });
    if (launcher == Launcher::kAuto && !speaks) continue;
    tried += fmt::format("{}{}", tried.empty() ? "" : " nor ", source.rank.front());
    STRATA_ASSIGN(std::optional<LaunchPlace> place, Read(variables, source));
    if (!place) continue;
    if (!found) {
      found = std::move(place);
      continue;
    }
    if (!Agree(*found, *place)) {
      return Invalid(
          fmt::format("{}, but {}: say which launcher counts, with --launcher=slurm, "
                      "openmpi, pmi, torchrun, kubernetes or none",
                      Said(*found), Said(*place)));
    }
    if (!found->world) found->world = place->world;
  }
  const bool kubernetes = launcher == Launcher::kAuto || launcher == Launcher::kKubernetes;
  if (!found && kubernetes) found = OrdinalOf(variables, pod, named_hosts);
  if (found || launcher == Launcher::kAuto) return found;
  return Invalid(fmt::format(
      "--launcher={}, but {} is not set{}",
      std::ranges::find(kNames, launcher, &std::pair<std::string_view, Launcher>::second)->first,
      tried,
      kubernetes ? fmt::format(", and the host name {} is not one of a StatefulSet of which the "
                               "machine list or worker.rendezvous names a pod, or "
                               "KUBERNETES_SERVICE_HOST is not set, as Kubernetes does in a pod",
                               pod)
                 : ""));
}

Result<std::vector<std::string>> SlurmHosts(const Environment& variables,
                                            const LaunchPlace& place) {
  constexpr std::string_view kNodes[] = {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"};
  constexpr std::string_view kTasks[] = {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"};
  const auto nodes = FirstOf(variables, kNodes);
  const auto tasks = FirstOf(variables, kTasks);
  if (!nodes || !tasks) {
    return Invalid(fmt::format("{} is not set: expected Slurm to say its nodes and their tasks",
                               nodes ? kTasks[1] : kNodes[1]));
  }
  STRATA_ASSIGN(const std::vector<std::string> names, ExpandHosts(nodes->value, nodes->name));
  STRATA_ASSIGN(const std::vector<int> counts, ExpandCounts(tasks->value, tasks->name));
  const int64_t sum = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  if (names.size() != counts.size() || sum != place.world.value_or(-1)) {
    return Invalid(fmt::format("{} names {} nodes and {} counts {} tasks on {}: expected {} tasks",
                               nodes->name, names.size(), tasks->name, sum, counts.size(),
                               place.world.value_or(-1)));
  }
  constexpr std::string_view kDistribution[] = {"SLURM_DISTRIBUTION"};
  const auto dealt = FirstOf(variables, kDistribution);
  // With a task a node all ways to deal are one.
  const bool matters = names.size() > 1 && sum > static_cast<int64_t>(names.size());
  if (dealt && matters && !dealt->value.starts_with("block")) {
    return Invalid(
        fmt::format("SLURM_DISTRIBUTION is '{}': expected tasks dealt out node by node "
                    "(srun --distribution=block), or worker.rendezvous to be set",
                    dealt->value));
  }
  std::vector<std::string> hosts;
  int own_node = -1;
  for (size_t i = 0; i < names.size(); ++i) {
    hosts.insert(hosts.end(), static_cast<size_t>(counts[i]), names[i]);
    if (own_node < 0 && place.rank < static_cast<int>(hosts.size())) {
      own_node = static_cast<int>(i);
    }
  }
  constexpr std::string_view kNodeId[] = {"SLURM_NODEID"};
  if (const auto id = FirstOf(variables, kNodeId)) {
    STRATA_ASSIGN(const int node, NumberOf(*id, 0));
    if (node != own_node) {
      return Invalid(fmt::format(
          "SLURM_NODEID is {}: expected rank {} on node {}; deal tasks out node by node (srun "
          "--distribution=block), or set worker.rendezvous",
          node, place.rank, own_node));
    }
  }
  return hosts;
}

Result<Machine> TorchrunMeeting(const Environment& variables) {
  constexpr std::string_view kAddress[] = {"MASTER_ADDR"};
  constexpr std::string_view kPort[] = {"MASTER_PORT"};
  const auto address = FirstOf(variables, kAddress);
  const auto port = FirstOf(variables, kPort);
  if (!address || !port) {
    return Invalid(fmt::format(
        "RANK is set, but {} is not: expected all that torchrun sets, or worker.rendezvous "
        "(--rendezvous=HOST:PORT)",
        address ? kPort[0] : kAddress[0]));
  }
  STRATA_ASSIGN(int number, NumberOf(*port, 1));
  const auto agent = variables.find("TORCHELASTIC_USE_AGENT_STORE");
  if (agent != variables.end() && agent->second == "True") ++number;
  if (number > 65535) {
    return Invalid(fmt::format(
        "MASTER_PORT is '{}': expected a port up to 65535 for worker 0 to listen at, or "
        "worker.rendezvous (--rendezvous=HOST:PORT)",
        port->value));
  }
  const bool is_bare_ipv6 =
      address->value.find(':') != std::string_view::npos && !address->value.starts_with('[');
  const std::string host =
      is_bare_ipv6 ? fmt::format("[{}]", address->value) : std::string(address->value);
  STRATA_ASSIGN(const MachineList parsed,
                ParseMachineList(fmt::format("{}:{} worker", host, number), "MASTER_ADDR"));
  return parsed.machines.at(0);
}

Result<std::vector<Machine>> WorkersOn(std::span<const std::string> hosts, uint16_t first_port) {
  std::vector<Machine> workers;
  std::map<std::string_view, int> taken;
  for (const std::string& host : hosts) {
    const int port = first_port + taken[host]++;
    if (port > 65535) {
      return Invalid(
          fmt::format("{} would need port {} for its last worker, from {} on; expected "
                      "a lower worker.port",
                      host, port, first_port));
    }
    Machine machine;
    machine.host = host;
    machine.port = static_cast<uint16_t>(port);
    machine.rank = static_cast<int>(workers.size());
    workers.push_back(std::move(machine));
  }
  return workers;
}

}  // namespace strata
