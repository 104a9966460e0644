// Recovery of a lane: what its folder holds goes back into it, record by record.
#pragma once

#include <functional>

#include "base/clock.h"
#include "base/status.h"
#include "ps/shard/lane.h"
#include "storage/log/log.h"

namespace strata {

// Replays the log into the lane, which must be recovering, opens it behind its last record, and
// lets the lane serve. `between` is called before every record and may handle messages meanwhile,
// which the lane answers kUnavailable; its error ends the recovery. Errors of the log and of a
// record name what is damaged; the lane stays recovering then.
Result<ReplaySummary> RecoverLane(Lane& lane, const LogOptions& log, const Clock& clock,
                                  const std::function<Status()>& between = {});

}  // namespace strata
