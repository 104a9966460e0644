// The nemesis: what goes wrong in a simulation, and when, from a seed.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "tests/sim/load.h"
#include "tests/sim/shared_folder.h"
#include "tests/sim/sim_cluster.h"

namespace strata::sim {

struct NemesisOptions {
  uint64_t seed = 1;
  TimeNs every = 200 * kMillisecond;     // on average
  TimeNs down_max = 300 * kMillisecond;  // how long a server stays dead, at most
  bool power = false;                    // machines lose power, and disks fail
  bool full_disks = true;
  bool partitions = true;
  bool flips = true;  // a read of a recovering server comes with a bit flipped
};

class Nemesis {
 public:
  Nemesis(Cluster& cluster, Load& load, SharedFolder& shared, const NemesisOptions& options);

  void Begin();
  // From now on nothing goes wrong, and all that did is mended.
  void End();

  uint64_t kills() const { return kills_; }
  uint64_t power_losses() const { return power_losses_; }

 private:
  void Plan();
  void Strike();
  void Kill(uint16_t server);
  void LosePower(uint16_t server);
  void FillDisk(uint16_t server);
  void Part(uint16_t server);
  void Revive(uint16_t server);
  // Servers that ended by themselves, and those whose recovery was spoilt, come back in time.
  void Watch();
  TimeNs Soon(TimeNs most);

  Cluster& cluster_;
  Load& load_;
  SharedFolder& shared_;
  const NemesisOptions options_;
  Random random_;
  bool ended_ = false;
  std::vector<bool> reviving_;
  std::vector<bool> disk_failed_;
  uint64_t strikes_ = 0;  // planned
  uint64_t kills_ = 0;
  uint64_t power_losses_ = 0;
};

}  // namespace strata::sim
