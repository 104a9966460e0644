// Checkpoints of a simulated cluster under load, and what must be in them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/disk.h"
#include "base/random.h"
#include "ps/client/lane_caller.h"
#include "ps/client/remote_checkpointer.h"
#include "tests/sim/load.h"
#include "tests/sim/sim_cluster.h"
#include "tests/sim/trainers.h"

namespace strata::sim {

// Runs the cluster until the lanes have answered one of its clients.
class SimCaller : public LaneCaller {
 public:
  SimCaller(Cluster& cluster, size_t client) : cluster_(cluster), client_(client) {}
  Result<std::vector<wire::Received>> CallLanes(LaneCall call) override;

 private:
  Cluster& cluster_;
  const size_t client_;
};

class Checkpoints {
 public:
  // `disk` is what the cluster's servers share; they keep the newest `keep`, 1 or more.
  // `trainers` may be null.
  Checkpoints(Cluster& cluster, Load& load, Trainers* trainers, Disk& disk, uint32_t keep,
              uint64_t seed);

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

  void Plan(TimeNs every);
  void Take();
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
  SimCaller caller_;
  RemoteCheckpointer checkpointer_;
  std::vector<Taken> taken_;  // with a number, or only cut
  uint64_t saved_ = 0;
  bool taking_ = false;
  bool ended_ = false;
};

}  // namespace strata::sim
