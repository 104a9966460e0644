// The commands. command_handlers.h says which functions are whose; each answers its request through
// LaneState::Reply, at once or once what it waits for has come.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ps/shard/lane_state.h"
#include "strata/status.h"

namespace strata {

// Calls the command's handler. Writes pass the dedup window first: a repeated one is answered again
// and not applied again.
void Dispatch(LaneState& lane, Request request);

// What is left when memory runs out for a request. Nothing of it has been done, and its answer says
// so. But if its change has begun (LaneState::changing) it is half done: with a log the lane ends,
// and the log says what it has to be; without, the answer says so.
void EndWithoutMemory(LaneState& lane, const ReplyTo& to, size_t replies);
Status HalfDone();
// Runs what a request asks for, or EndWithoutMemory.
template <typename Run>
void ForRequest(LaneState& lane, const ReplyTo& to, const Run& run) {
  const size_t replies = lane.out->size();
  try {
    const MayFail may;
    run();
  } catch (const std::bad_alloc&) {
    EndWithoutMemory(lane, to, replies);
  }
}

// Reads: they answer by themselves.
void HandleHello(LaneState& lane, Request request);
void HandleShardMap(LaneState& lane, Request request);
void HandlePing(LaneState& lane, Request request);
void HandleLeave(LaneState& lane, Request request);
void HandleListTables(LaneState& lane, Request request);
void HandlePrefetch(LaneState& lane, Request request);
void HandlePull(LaneState& lane, Request request);
void HandleScan(LaneState& lane, Request request);
void HandleStats(LaneState& lane, Request request);
void HandleControl(LaneState& lane, Request request);
void HandleListCollections(LaneState& lane, Request request);
void HandleReadItems(LaneState& lane, Request request);
void HandleScanItems(LaneState& lane, Request request);
void HandleCollectionStats(LaneState& lane, Request request);
void HandleFollowItems(LaneState& lane, Request request);
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

// What was gathered: pulls, to be called before any write, and pushes, before anything else. Of one
// of the two there is nothing.
void AnswerGathered(LaneState& lane);
void ApplyGathered(LaneState& lane);
inline void FinishGathered(LaneState& lane) {
  AnswerGathered(lane);
  ApplyGathered(lane);
}
// Most keys that are gathered, unless a single request brings more.
constexpr size_t kGatheredKeysMax = size_t{1} << 18;
// A repeat of a push that was gathered: answered with it.
bool JoinGathered(LaneState& lane, const Request& request);

// Any write, CHANGE_ITEMS at once.
void HandleWrite(LaneState& lane, Request request);

// Writes: a status is answered and remembered by the caller. The LSN of the record that says that
// the write was applied (0 without a log), or nothing when it waits and will be answered later.
// Nothing has changed unless the status is OK.
using Applied = std::optional<Lsn>;
Result<Applied> ApplyCreateTable(LaneState& lane, Request& request);
Result<Applied> ApplyDropTable(LaneState& lane, Request& request);
Result<Applied> ApplyPush(LaneState& lane, Request& request);
Result<Applied> ApplyPut(LaneState& lane, Request& request);
Result<Applied> ApplyErase(LaneState& lane, Request& request);
Result<Applied> ApplyCreateCollection(LaneState& lane, Request& request);
Result<Applied> ApplyDropCollection(LaneState& lane, Request& request);
Result<Applied> ApplyChangeItems(LaneState& lane, Request& request);
// Any of them.
Result<Applied> Apply(LaneState& lane, Request& request);

// The lane forgets the client's writes, here and in the log, and applies none of it any more.
// kDiskFull: nothing has changed.
Status EndSession(LaneState& lane, const ClientId& client);

// A client that is new here gets a place where others are gone: idle for long, or without a
// connection. kUnavailable when places will be free soon; kDiskFull.
Status MakeRoom(LaneState& lane, const ClientId& client, TimeNs now);
std::vector<LaneClient> ListClients(LaneState& lane, TimeNs now);
Status EvictClient(LaneState& lane, const ClientId& client);

// Does again what a record of the log says was done. Never answers anybody. An error names what
// stands in the way: kCorrupt for bytes that no lane writes, kRefused for memory.
Status ReplayRecord(LaneState& lane, const LogRecord& record, TimeNs now);
// A note of a change of a collection, whose record is in another log.
Status ReplayItemsNote(LaneState& lane, const LogRecord& record, TimeNs now);
// A step that was closed: the pushes of all ranks, in rank order.
Status ReplayStep(LaneState& lane, std::vector<Request> pushes);

// Checkpoints. Files are read and written in the background.
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

// A PUSH_PULL becomes the push in it, and `then`. kInvalid or kRefused for keys to look up that
// make no sense whatever the lane holds, so that a repeat is refused alike.
Status SplitPushPull(const LaneState& lane, Request& request);
// The outcome of a write; of a PUSH_PULL that was applied with the rows of `then` as they are now.
void AnswerWrite(LaneState& lane, const ReplyTo& to, const Status& status, Lsn lsn,
                 const std::optional<std::vector<Key>>& then);
// kInvalid when `count` rows of the table exceed a reply, or are not `width` wide (0: any).
Status CheckRowsOut(const LocalTable& table, size_t count, uint32_t width);

// Looks the rows up; answers with them, or with the error of one that cannot be read.
Result<Frame> LookUp(LaneState& lane, LocalTable& table, std::span<const Key> keys);
void AnswerPull(LaneState& lane, LocalTable& table, const ReplyTo& to, std::span<const Key> keys);
// Answers requests that no longer wait, with the reason; their writes may come again.
void AnswerEnded(LaneState& lane, StepBarrier::Ended ended);

// kInvalid for more keys than a request may have.
Status CheckKeyCount(const LaneState& lane, size_t keys);
// The keys of a pull, push, put or erase: decoded, and all of them this lane's.
Result<std::vector<Key>> OwnedKeys(const LaneState& lane, const Request& request);
// The rows of a push or put, in the table's RoomForRows: kInvalid unless their width is the table's
// dimension.
Result<RowsIn> RowsOf(const LocalTable& table, const Request& request);
// A synchronous request's claim.
SyncMember MemberOf(const Request& request);

}  // namespace strata
