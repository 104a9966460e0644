// A process's place among those that a launcher (Slurm, Open MPI, Kubernetes) started with it, from
// the variables that the launcher sets. Pure: the caller brings the variables.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/topology/machine_list.h"
#include "strata/status.h"

namespace strata {

// Environment variables by name.
using Environment = std::map<std::string, std::string, std::less<>>;

// Whose variables count. kAuto: all of them, in this order; where two speak, they must agree.
//   kSlurm       SLURM_PROCID, SLURM_STEP_NUM_TASKS or SLURM_NTASKS
//   kOpenMpi     OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE
//   kPmi         PMI_RANK, PMI_SIZE; or PMIX_RANK, which comes without a size
//   kTorchrun    RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT; as others use these names too, they
//                count only where all four are set
//   kKubernetes  JOB_COMPLETION_INDEX of an indexed Job; else the ordinal at the end of the host
//                name in a pod of a StatefulSet, which never contradicts the others: it numbers
//                hosts, and they number processes
enum class Launcher : uint8_t { kAuto, kSlurm, kOpenMpi, kPmi, kTorchrun, kKubernetes, kNone };
// "auto", "slurm", "openmpi", "pmi", "torchrun", "kubernetes", "none"; kAuto for any other text.
Launcher ParseLauncher(std::string_view name);

struct LaunchPlace {
  std::string source;  // the variable that said the rank
  int rank = 0;
  std::optional<int> world = std::nullopt;  // not all launchers tell
};

// Nothing when no launcher's variables are there. `pod` is the name of this host up to its first
// dot; it counts as a StatefulSet's only when one of `named_hosts` (of the workers or of their
// meeting place) is a pod of the same set. kInvalid names the variable, what was expected and what
// was found: a number that is none, a rank beyond the world, a launcher that was asked for and set
// nothing, two that disagree.
Result<std::optional<LaunchPlace>> FindLaunchPlace(const Environment& variables, Launcher launcher,
                                                   std::string_view pod,
                                                   std::span<const std::string> named_hosts);

// The host of each rank of a Slurm job, in rank order, from SLURM_STEP_NODELIST or
// SLURM_JOB_NODELIST and the tasks of each node. kInvalid when they do not add up to the place, or
// when ranks are not dealt out node by node (srun --distribution=block, the default).
Result<std::vector<std::string>> SlurmHosts(const Environment& variables, const LaunchPlace& place);

// Where the processes of torchrun meet when nothing else says so: MASTER_ADDR and MASTER_PORT, or
// the port after it where torchrun's agent listens at that one itself
// (TORCHELASTIC_USE_AGENT_STORE). kInvalid names a variable that is not set, or holds no address or
// port.
Result<Machine> TorchrunMeeting(const Environment& variables);

// Workers on these hosts, in rank order; those of one host get the ports from `first_port` on.
// kInvalid when a port would be above 65535.
Result<std::vector<Machine>> WorkersOn(std::span<const std::string> hosts, uint16_t first_port);

}  // namespace strata
