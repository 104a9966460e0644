// One message to each lane of a cluster, or to one, around the table operations: checkpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/message_port.h"
#include "proto/wire/commands.h"
#include "strata/status.h"

namespace strata {

struct LaneCall {
  wire::Command command{};
  uint32_t flags = 0;
  uint64_t number = 0;                // of a checkpoint
  std::optional<uint16_t> lane = {};  // index in the shard map; none: all of them
  Message payload = {};
  uint32_t cut = 0;  // carried by this and all later messages, unless a higher one is known
  TimeNs deadline = kNever;
};

class LaneCaller {
 public:
  virtual ~LaneCaller() = default;
  // Blocks until every lane that is meant has answered. Replies in the order of the map's lanes, or
  // the one's; else the first lane's error.
  virtual Result<std::vector<wire::Received>> CallLanes(LaneCall call) = 0;
};

}  // namespace strata
