// Which worker this process is, and who the others are: what the machine list, the flags and the
// launcher's variables say together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cluster/topology/launcher.h"
#include "cluster/topology/machine_list.h"
#include "strata/status.h"

namespace strata {

struct PlaceClues {
  std::optional<int> rank;       // --rank: decides alone
  std::optional<uint16_t> port;  // tells a list's entries apart; of a host's first worker without
  Launcher launcher = Launcher::kAuto;
  Environment variables;
  std::string pod;                                // name of this host up to the first dot
  TimeNs timeout = 0;                             // to resolve the names of the list
  std::optional<Machine> meeting = std::nullopt;  // where they meet, when nothing lists them
  int world = 0;                                  // how many meet; 0: as the launcher says
};

struct WorkerPlace {
  int rank = 0;
  int world = 1;
  // In rank order; empty: this one is alone, or they have yet to meet.
  std::vector<Machine> workers;
  // Where they meet when nothing lists them: clues.meeting, or as torchrun says.
  std::optional<Machine> meeting = std::nullopt;
};

// In this order: clues.rank; the launcher's variables; the one entry that is this machine. A list
// without workers is completed from a Slurm job's nodes; those of torchrun meet at its master.
// kInvalid when there is no place, and when launcher and list disagree on how many workers there
// are.
Result<WorkerPlace> FindWorkerPlace(const MachineList& list, const PlaceClues& clues);

// Of this process, and this machine.
Environment ProcessEnvironment();
std::string PodName();

}  // namespace strata
