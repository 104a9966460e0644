// The machine that keeps the folder of checkpoints for all servers of a simulation. It answers at
// once, and may lose power between any two changes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "tests/sim/watched_disk.h"
#include "tests/support/sim_disk.h"

namespace strata::sim {

constexpr const char* kCheckpointsFolder = "checkpoints";

class SharedFolder {
 public:
  explicit SharedFolder(uint64_t seed);

  Disk& disk() { return watched_; }
  // The power is lost instead of the n-th change from now on, which fails; 0: not at all.
  void LosePowerAfter(uint64_t changes) { fuse_ = changes; }
  uint64_t power_losses() const { return power_losses_; }
  // Calls `call` with the number of each checkpoint, just before it is retired for good.
  void OnRetired(std::function<void(uint32_t number)> call) { on_retired_ = std::move(call); }

 private:
  Result<bool> Watch(DiskChange change, const std::string& path);

  SimDisk disk_;
  WatchedDisk watched_;
  std::function<void(uint32_t)> on_retired_;
  uint64_t fuse_ = 0;
  uint64_t power_losses_ = 0;
};

}  // namespace strata::sim
