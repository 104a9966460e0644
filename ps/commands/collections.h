// Commands about collections of item sets. Each answers its request through LaneState::Reply, at
// once or once what it waits for has come.
#pragma once

#include "base/clock.h"
#include "ps/commands/dispatch.h"
#include "strata/status.h"

namespace strata {

void HandleListCollections(LaneState& lane, Request request);
void HandleReadItems(LaneState& lane, Request request);
void HandleScanItems(LaneState& lane, Request request);
void HandleCollectionStats(LaneState& lane, Request request);
void HandleFollowItems(LaneState& lane, Request request);

Result<Applied> ApplyCreateCollection(LaneState& lane, Request& request);
Result<Applied> ApplyDropCollection(LaneState& lane, Request& request);
Result<Applied> ApplyChangeItems(LaneState& lane, Request& request);

// CHANGE_ITEMS: a write that waits before anything is looked at, with all behind it of the same
// collection, while that one's merges lag: the lane goes on meanwhile.
void HandleChangeItems(LaneState& lane, Request request);
// Those that waited and need not any more. To be called every kLookAtMerges while some wait.
void HandleWaitingChanges(LaneState& lane, TimeNs now);
constexpr TimeNs kLookAtMerges = 2 * kMillisecond;
// All that wait are answered with the reason.
void EndWaitingChanges(LaneState& lane, const Status& reason);

// It waits until BeginSearches.
void HandleSearch(LaneState& lane, Request request);
// The next batch of searches, when none is under way. To be called when a round ends.
void BeginSearches(LaneState& lane, TimeNs now);
// Those that wait are answered with the reason.
void EndSearches(LaneState& lane, const Status& reason);

// A note of a change of a collection, whose record is in another log.
Status ReplayItemsNote(LaneState& lane, const LogRecord& record, TimeNs now);

}  // namespace strata
