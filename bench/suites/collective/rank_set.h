// A contender of suite "collective": one process a rank, which do the same at the same time when
// they are told to, and sleep while others have their turn.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness/scratch_folder.h"
#include "bench/peers/rank_orders.h"
#include "cluster/link/connect/listener.h"
#include "strata/status.h"

namespace strata::bench {

// What carries the bytes between ranks, which are all of this host.
enum class Transport : uint8_t { kSockets, kMemory };

// How the ranks of a contender are started.
struct RankProgram {
  std::string name;                         // "gloo"
  std::string file;                         // in the folder of rank programs
  std::vector<std::string> arguments = {};  // behind those that all have
  // What starts all ranks at once ("mpirun ..."), if they are not started one by one. Program and
  // socket follow behind.
  std::vector<std::string> launcher = {};
};

// Ours, and what is installed of the peers that have such a transport.
RankProgram OurRanks(Transport transport);
// Ours over sockets and TLS. `folder` has certificate.pem, which signs itself, and its key.pem.
RankProgram OurTlsRanks(const std::string& folder);
std::vector<RankProgram> PeerRanks(Transport transport);

class RankSet {
 public:
  // congestion: TCP's congestion control for all of its sockets, "" the system's. Returns when all
  // ranks have met.
  static Result<std::unique_ptr<RankSet>> Start(const RankProgram& program, int world,
                                                const std::string& congestion);
  ~RankSet();  // ends the processes and waits for them
  RankSet(const RankSet&) = delete;
  RankSet& operator=(const RankSet&) = delete;

  // Of the slowest rank. kFailed: a rank has died or hangs.
  Result<RankAnswer> Do(const RankOrder& order) const;

  const std::string& name() const { return name_; }
  int world() const { return static_cast<int>(ranks_.size()); }

 private:
  RankSet(std::string name, ScratchFolder folder)
      : name_(std::move(name)), folder_(std::move(folder)) {}
  Status Launch(const RankProgram& program, int world, const std::string& congestion);
  Status Meet(int world);

  const std::string name_;
  const ScratchFolder folder_;
  OwnedFd listener_;
  std::vector<pid_t> pids_;
  std::vector<OwnedFd> ranks_;
};

// kInvalid: the kernel has no such congestion control, or does not let us use it.
Status CheckCongestion(const std::string& congestion);

}  // namespace strata::bench
