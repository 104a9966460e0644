#include "cluster/names/worker_place.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "base/human_text.h"
#include "cluster/names/own_rank.h"

namespace strata {
namespace {

// Who was started together, when the list names no worker.
Result<std::vector<Machine>> StartedWorkers(const MachineList& list, const PlaceClues& clues,
                                            const LaunchPlace& place) {
  if (place.world.value_or(1) == 1) return std::vector<Machine>();
  if (place.source == "SLURM_PROCID" && clues.port) {
    STRATA_ASSIGN(const std::vector<std::string> hosts, SlurmHosts(clues.variables, place));
    return WorkersOn(hosts, *clues.port);
  }
  return Invalid(fmt::format(
      "{} says rank {} of {}, but {} lists no worker: add them, set worker.hosts, with Slurm set "
      "worker.port, or leave the launcher's variables alone with --launcher=none",
      place.source, place.rank, *place.world, list.file));
}

Result<WorkerPlace> PlaceAtMeeting(const PlaceClues& clues) {
  std::optional<LaunchPlace> place;
  if (!clues.rank || clues.world == 0) {
    STRATA_ASSIGN(place, FindLaunchPlace(clues.variables, clues.launcher, clues.pod,
                                         {&clues.meeting->host, 1}));
  }
  if (place && clues.world != 0 && place->world.value_or(clues.world) != clues.world) {
    return Invalid(fmt::format(
        "{} says rank {} of {}, but worker.world says that {} meet: leave worker.world out, or the "
        "launcher's variables alone with --launcher=none",
        place->source, place->rank, *place->world, clues.world));
  }
  if (!clues.rank && !place) {
    return Invalid(
        "worker.rendezvous needs to know which rank this is: give --rank, or start it with a "
        "launcher that says so (Slurm, Open MPI, PMI, torchrun, an indexed Job of Kubernetes)");
  }
  const int world = clues.world != 0 ? clues.world : place ? place->world.value_or(0) : 0;
  const int rank = clues.rank.value_or(place ? place->rank : 0);
  if (world == 0) {
    return Invalid(
        "worker.rendezvous needs to know how many workers meet: set worker.world, or --world");
  }
  if (rank >= world) {
    return Invalid(fmt::format("rank {} of {} workers that meet (worker.world): ranks count from 0",
                               rank, world));
  }
  return WorkerPlace{.rank = rank, .world = world, .workers = {}, .meeting = clues.meeting};
}

}  // namespace

Result<WorkerPlace> FindWorkerPlace(const MachineList& list, const PlaceClues& clues) {
  if (clues.meeting) return PlaceAtMeeting(clues);
  WorkerPlace result{.rank = 0, .world = 1, .workers = list.Of(Role::kWorker)};
  std::optional<LaunchPlace> place;
  if (!clues.rank) {
    std::vector<std::string> hosts;
    for (const Machine& worker : result.workers) hosts.push_back(worker.host);
    STRATA_ASSIGN(place, FindLaunchPlace(clues.variables, clues.launcher, clues.pod, hosts));
  }
  if (place && result.workers.empty() && place->source == "RANK" && *place->world > 1) {
    STRATA_ASSIGN(result.meeting, TorchrunMeeting(clues.variables));
    result.rank = place->rank;
    result.world = *place->world;
    return result;
  }
  if (place && result.workers.empty()) {
    STRATA_ASSIGN(result.workers, StartedWorkers(list, clues, *place));
  }
  if (result.workers.empty()) return result;
  result.world = static_cast<int>(result.workers.size());
  if (!place) {
    STRATA_ASSIGN(result.rank,
                  DetectOwnRank(list, Role::kWorker, clues.rank, clues.port, clues.timeout));
    return result;
  }
  if (place->world.value_or(result.world) != result.world || place->rank >= result.world) {
    return Invalid(fmt::format(
        "{} says rank {}{}, but {} lists {}: start as many as are listed, or leave the "
        "launcher's variables alone with --launcher=none",
        place->source, place->rank, place->world ? fmt::format(" of {}", *place->world) : "",
        list.file, Counted(static_cast<uint64_t>(result.world), "worker")));
  }
  result.rank = place->rank;
  return result;
}

Environment ProcessEnvironment() {
  Environment variables;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view text = *at;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::string PodName() {
  std::array<char, 256> name = {};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  const std::string_view text = name.data();
  return std::string(text.substr(0, text.find('.')));
}

}  // namespace strata
