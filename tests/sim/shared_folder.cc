#include "tests/sim/shared_folder.h"

namespace strata::sim {

SharedFolder::SharedFolder(uint64_t seed)
    : disk_({.seed = seed}), watched_(disk_, [this](auto, const auto&) { return Watch(); }) {}

Result<bool> SharedFolder::Watch() {
  if (fuse_ == 0 || --fuse_ > 0) return true;
  ++power_losses_;
  disk_.Crash();
  return Failed("the machine that keeps the checkpoints lost power");
}

}  // namespace strata::sim
