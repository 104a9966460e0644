// Commands about checkpoints. Files are read and written in the background.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "ps/commands/dispatch.h"
#include "strata/status.h"

namespace strata {

void HandleCut(LaneState& lane, Request request);
void HandleCheckpoint(LaneState& lane, Request request);
void HandleCommitCheckpoint(LaneState& lane, Request request);
void HandleTrimLog(LaneState& lane, Request request);
void HandleListCheckpoints(LaneState& lane, Request request);
void HandleReadAttachment(LaneState& lane, Request request);
// kRefused when this server keeps none.
Status CheckKeepsCheckpoints(const LaneState& lane);
Result<uint32_t> CheckpointNumberOf(const LaneState& lane, const Request& request);
// In the background: the checkpoints that the lane's log needs are marked as needed, and no others.
// Without a log nothing is.
void MarkNeededCheckpoints(LaneState& lane);
// kRefused: what concerns the one folder, or the order of checkpoints, one lane does.
Status CheckFirstLane(const LaneState& lane);
// Whether somebody who says that there is this cut may raise the lane's: it is not too far above
// the newest that the lane knows of, nor above the newest checkpoint in the folder. kInvalid.
Status CheckNewCut(LaneState& lane, uint32_t number, TimeNs now);
// The lane's state as it is now is the cut `number`, which is above all before; a CHECKPOINT may
// save it later on. kDiskFull: nothing has changed.
Status CutLane(LaneState& lane, uint32_t number, TimeNs now);
// What was cut is not saved any more; who waits for it is told the reason.
void EndSaving(LaneState& lane, const Status& reason);
// A saving is under way and its next rows may be handed on: SaveMore, between two rounds.
bool CanSaveMore(const LaneState& lane);
void SaveMore(LaneState& lane);
// A table that goes; null when what is being saved still needs it, and has taken it.
std::unique_ptr<LocalTable> KeepForSaving(LaneState& lane, std::unique_ptr<LocalTable> table);
// A write that waits until its tables are loaded. kUnavailable while another one's are.
Result<Applied> BeginRestore(LaneState& lane, Request& request);
// kUnavailable, which names the checkpoint that is being loaded: there must be one.
Status LoadsCheckpoint(const LaneState& lane);
// Whoever waits for a RESTORE is answered with the reason, and its load changes nothing.
void EndRestoring(LaneState& lane, const Status& reason);
bool JoinRestore(LaneState& lane, const Request& request);  // a repeat of it: answered with it
Status ReplayRestored(LaneState& lane, const LogRecord& record, TimeNs now);

}  // namespace strata
