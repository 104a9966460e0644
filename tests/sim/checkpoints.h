// Checkpoints of a simulated cluster under load, and what must be in them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/file/disk.h"
#include "base/random.h"
#include "ps/client/lane_caller.h"
#include "ps/client/remote_checkpointer.h"
#include "tests/sim/load.h"
#include "tests/sim/sim_cluster.h"
#include "tests/sim/trainers.h"

namespace strata::sim {

// Runs the cluster until the lanes have answered one of its clients. `stalls`: how often it stands
// still before a message, for up to twice as long as a turn may be silent.
class SimCaller : public LaneCaller {
 public:
  SimCaller(Cluster& cluster, size_t client, double stalls = 0, uint64_t seed = 0)
      : cluster_(cluster), client_(client), stalls_(stalls), random_(seed) {}
  Result<std::vector<wire::Received>> CallLanes(LaneCall call) override;

 private:
  Cluster& cluster_;
  const size_t client_;
  const double stalls_;
  Random random_;
};

struct CheckpointsOptions {
  uint64_t seed = 1;
  size_t first_taker = 0;  // clients of the cluster's, which do nothing else
  size_t takers = 1;
  double stalls = 0;  // of a taker: SimCaller
  uint32_t keep = 1;  // how many of the newest the servers keep
};

class Checkpoints {
 public:
  // `disk` is what the cluster's servers share. `trainers` may be null.
  Checkpoints(Cluster& cluster, Load& load, Trainers* trainers, Disk& disk,
              const CheckpointsOptions& options);

  void Begin(TimeNs every);
  void End() { ended_ = true; }
  // Reads every checkpoint that there is, restores the newest ones into fresh clusters of other
  // sizes and judges what they hold.
  void Check();
  uint64_t taken() const { return saved_; }

 private:
  struct Taken {
    uint32_t number = 0;
    bool saved = false;  // that is, told so: another one may be there, too
    std::array<std::vector<Ledger::Mask>, Load::kTables> least, most;
    uint64_t steps_least = 0, steps_most = 0;
  };

  // One that takes them; while it waits, others may take theirs.
  struct Taker {
    Taker(Cluster& cluster, size_t client, double stalls, uint64_t seed)
        : caller(cluster, client, stalls, seed), checkpointer(caller) {}
    SimCaller caller;
    RemoteCheckpointer checkpointer;
    bool taking = false;
  };

  void Plan(Taker& taker, TimeNs every);
  void Take(Taker& taker);
  void CheckFiles(uint32_t number);
  void CheckOne(const Taken& taken);
  void CheckLoad(Cluster& fresh, const Taken& taken);
  void CheckTrainers(Cluster& fresh, const Taken& taken);

  Cluster& cluster_;
  Load& load_;
  Trainers* const trainers_;
  Disk& disk_;
  const uint32_t keep_;
  Random random_;
  std::vector<std::unique_ptr<Taker>> takers_;
  std::vector<Taken> taken_;  // with a number, or only cut
  uint64_t saved_ = 0;
  bool ended_ = false;
};

}  // namespace strata::sim
