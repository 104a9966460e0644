// Checkpoints of a soak's cluster, one after the other, full ones and incremental ones, while
// servers and the loop's own process are killed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace strata::soak {

struct CheckpointLoopOptions {
  std::vector<std::string> servers;
  uint64_t cluster_id = 0;
  std::string page;  // its `acked` counts checkpoints
};

// Until the page says stop. An error of one checkpoint goes to stderr; the next one follows.
void RunCheckpointLoop(const CheckpointLoopOptions& options);

}  // namespace strata::soak
