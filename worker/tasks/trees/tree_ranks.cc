#include "worker/tasks/trees/tree_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/file/text_file.h"
#include "base/human_text.h"
#include "base/log.h"

namespace strata {
namespace {

constexpr uint64_t kListBytesMax = 16 << 20;

// LightGBM's "ip:port,ip:port" as the lines of its machine list.
std::string LinesOf(const std::vector<std::string>& machines) {
  std::string text;
  for (std::string machine : machines) {
    if (const size_t colon = machine.rfind(':'); colon != std::string::npos) machine[colon] = ' ';
    text += machine + '\n';
  }
  return text;
}

Result<MachineList> ListOf(Disk& disk, const MachineParameters& p) {
  if (!p.machines.empty()) return ParseMachineList(LinesOf(p.machines), "machines");
  STRATA_ASSIGN(const std::string text, ReadTextFile(disk, p.machine_list_filename, kListBytesMax));
  return ParseMachineList(text, p.machine_list_filename);
}

}  // namespace

Result<bool> AddMachines(Disk& disk, const MachineParameters& p, const TaskParameters& task,
                         bool has_cluster, ClusterConfig* config) {
  if (p.machines.empty() && p.machine_list_filename.empty()) {
    if (p.num_machines <= 1 || has_cluster) return false;
    return Invalid(
        fmt::format("num_machines = {}: expected machine_list_filename or machines, which list "
                    "them, or --config",
                    p.num_machines));
  }
  if (!p.machines.empty() && !p.machine_list_filename.empty()) {
    return Invalid("machines and machine_list_filename exclude each other: remove one");
  }
  const char* const key = p.machines.empty() ? "machine_list_filename" : "machines";
  if (p.num_machines == 1) {  // as LightGBM has it
    if (config->rank && !has_cluster) {
      return Invalid("--rank and num_machines = 1, which trains alone, exclude each other");
    }
    if (task.name == "train" && task.verbosity > 0) {
      Log(LogLevel::kInfo, "num_machines = 1: this process trains alone, {} is not read", key);
    }
    return false;
  }
  if (has_cluster) {
    return Invalid(fmt::format("{} and --config exclude each other: give one", key));
  }
  Result<MachineList> list = ListOf(disk, p);
  if (!list.ok()) return Invalid(list.status().message()).Prefixed(key);
  const size_t workers = list->Of(Role::kWorker).size();
  if (p.num_machines != 0 && static_cast<size_t>(p.num_machines) != workers) {
    return Invalid(fmt::format("num_machines = {}, but {} lists {} machines: expected as many",
                               p.num_machines, key, workers));
  }
  config->machines = std::move(*list);
  if (p.local_listen_port > 0) config->worker_port = static_cast<uint16_t>(p.local_listen_port);
  if (p.time_out > 0) {
    config->connect_timeout = config->collective_timeout = p.time_out * 60 * kSecond;
  }
  return true;
}

Result<std::unique_ptr<LinkedGroup>> JoinTreeRanks(const ClusterConfig& config,
                                                   const MachineParameters& p,
                                                   const WorkerIdentity& identity,
                                                   const SessionHooks& hooks) {
  if (identity.world > 1 && identity.task != "train" && identity.task != "refit") {
    return Invalid(fmt::format("task = {} is done by one process: start it without the other {}",
                               identity.task,
                               Counted(static_cast<uint64_t>(identity.world) - 1, "worker")));
  }
  if (identity.world > 1 && p.tree_learner == "serial") {
    return Invalid(fmt::format(
        "tree_learner = serial trains alone, and there are {} workers: set tree_learner = data, "
        "feature or voting",
        identity.world));
  }
  if (p.tree_learner == "feature" && p.pre_partition) {
    return Invalid(
        "pre_partition: with tree_learner = feature every worker has all rows: remove one of them");
  }
  return LinkedGroup::Join(config, identity.place, identity.job, hooks.links);
}

}  // namespace strata
