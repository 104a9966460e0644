// What a log says is done again.
#pragma once

#include "base/clock.h"
#include "ps/shard/lane_state.h"
#include "strata/status.h"

namespace strata {

// Does again what a record of the log says was done. Never answers anybody. An error names what
// stands in the way: kCorrupt for bytes that no lane writes, kRefused for memory.
Status ReplayRecord(LaneState& lane, const LogRecord& record, TimeNs now);

}  // namespace strata
