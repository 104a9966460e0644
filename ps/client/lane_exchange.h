// Messages to lanes about a collection or table, some to each, in the order of operations on it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/message_port.h"
#include "proto/wire/commands.h"
#include "proto/wire/shard_map.h"
#include "strata/status.h"

namespace strata {

// They are sent again as operations on tables are: writes under the same sequence.
struct LaneMessages {
  struct Part {
    uint16_t lane = 0;  // index in the shard map
    uint32_t flags = 0;
    uint32_t count = 0;      // what the header says of the payload
    uint64_t cursor = 0;     // of a page
    size_t reply_bytes = 0;  // about what is asked for
    Message payload = {};
  };
  wire::Command command{};
  uint64_t collection = 0;          // wire::CollectionIdOf its name, or a table's id
  uint8_t ack = wire::kAckDefault;  // of a write
  std::vector<Part> parts = {};
  TimeNs deadline = kNever;
};

class LaneExchange {
 public:
  virtual ~LaneExchange() = default;
  // Blocks until all are answered. Replies in the order of the parts; else the first error of the
  // first lane that has one, which names server and lane.
  virtual Result<std::vector<wire::Received>> Exchange(LaneMessages messages) = 0;
  // Which lane holds what. The same as long as this lives.
  virtual wire::ShardMap Map() = 0;
};

}  // namespace strata
