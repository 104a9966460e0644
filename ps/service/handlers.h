// The commands. Each lives in a file of its own and is called by Dispatch; each answers its request
// through LaneState::Reply, at once or once what it waits for has come.
#pragma once

#include "base/status.h"
#include "ps/shard/lane_state.h"

namespace strata {

// Calls the command's handler. Writes pass the dedup window first: a repeated one is answered again
// and not applied again.
void Dispatch(LaneState& lane, Request request);

// Reads: they answer by themselves.
void HandleHello(LaneState& lane, Request request);
void HandleShardMap(LaneState& lane, Request request);
void HandlePing(LaneState& lane, Request request);
void HandleListTables(LaneState& lane, Request request);
void HandlePull(LaneState& lane, Request request);
void HandleScan(LaneState& lane, Request request);
void HandleStats(LaneState& lane, Request request);
void HandleControl(LaneState& lane, Request request);

// Writes: a status is answered and remembered by the caller; kParked means that the write waits and
// will be answered later. Nothing has changed unless the status is OK.
enum class WriteState : uint8_t { kDone, kParked };
Result<WriteState> ApplyCreateTable(LaneState& lane, const Request& request);
Result<WriteState> ApplyDropTable(LaneState& lane, const Request& request);
Result<WriteState> ApplyPush(LaneState& lane, Request& request);
Result<WriteState> ApplyPut(LaneState& lane, const Request& request);
Result<WriteState> ApplyErase(LaneState& lane, const Request& request);

// Looks the rows up and answers.
void AnswerPull(LaneState& lane, LocalTable& table, const ReplyTo& to, std::span<const Key> keys);
// Answers requests that no longer wait, with the reason; their writes may come again.
void AnswerEnded(LaneState& lane, StepBarrier::Ended ended);

// The keys of a pull, push, put or erase: decoded, and all of them this lane's.
Result<std::vector<Key>> OwnedKeys(const LaneState& lane, const Request& request);
// The rows of a push or put: kInvalid unless their width is the table's dimension.
Result<std::vector<float>> RowsOf(const LocalTable& table, const Request& request);
// A synchronous request's claim.
SyncMember MemberOf(const Request& request);

}  // namespace strata
