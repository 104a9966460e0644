// Recovery of a lane: what its folder holds goes back into it, record by record.
#pragma once

#include <functional>

#include "base/clock.h"
#include "ps/service/lane.h"
#include "storage/log/log.h"
#include "strata/status.h"

namespace strata {

// What is done between two steps of a recovery: handle messages, which the lane answers
// kUnavailable. `waiting`: nothing else is to be done, so it may take a moment. An error ends the
// recovery.
using BetweenSteps = std::function<Status(bool waiting)>;

// Loads the checkpoint that the log begins behind (in the background, where the lane's config has
// one), replays the log, opens it behind its last record, and lets the lane, which must be
// recovering, serve. Errors name what is damaged; the lane stays recovering then.
Result<ReplaySummary> RecoverLane(Lane& lane, const LogOptions& log, const Clock& clock,
                                  const BetweenSteps& between = {});

}  // namespace strata
