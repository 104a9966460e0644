// How a request comes to the function of its command, and what the functions of all commands need.
#pragma once

#include <cstddef>
#include <new>
#include <optional>
#include <vector>

#include "base/out_of_memory.h"
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

// Any write but CHANGE_ITEMS. It passes the dedup window first.
void HandleWrite(LaneState& lane, Request request);

// Writes: a status is answered and remembered by the caller. The LSN of the record that says that
// the write was applied (0 without a log), or nothing when it waits and will be answered later.
// Nothing has changed unless the status is OK.
using Applied = std::optional<Lsn>;
Result<Applied> Apply(LaneState& lane, Request& request);

// Answers requests that no longer wait, with the reason; their writes may come again.
void AnswerEnded(LaneState& lane, StepBarrier::Ended ended);

// kInvalid for more keys than a request may have.
Status CheckKeyCount(const LaneState& lane, size_t keys);
// The keys of a pull, push, put or erase: decoded, and all of them this lane's.
Result<std::vector<Key>> OwnedKeys(const LaneState& lane, const Request& request);
// The rows of a push or put, where they came or in the table's RoomForRows: kInvalid unless their
// width is the table's dimension.
Result<RowsIn> RowsOf(const LocalTable& table, const Request& request);
// A synchronous request's claim.
SyncMember MemberOf(const Request& request);

}  // namespace strata
