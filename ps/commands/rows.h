// Commands about tables and their rows. Each answers its request through LaneState::Reply. A write
// is carried out by Apply, as dispatch.h says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ps/commands/dispatch.h"
#include "strata/status.h"

namespace strata {

void HandleListTables(LaneState& lane, Request request);
void HandlePrefetch(LaneState& lane, Request request);
void HandlePull(LaneState& lane, Request request);
void HandleScan(LaneState& lane, Request request);
void HandleStats(LaneState& lane, Request request);

Result<Applied> ApplyCreateTable(LaneState& lane, Request& request);
Result<Applied> ApplyDropTable(LaneState& lane, Request& request);
Result<Applied> ApplyPush(LaneState& lane, Request& request);
Result<Applied> ApplyPut(LaneState& lane, Request& request);
Result<Applied> ApplyErase(LaneState& lane, Request& request);

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

// A step that was closed: the pushes of all ranks, in rank order.
Status ReplayStep(LaneState& lane, std::vector<Request> pushes);

}  // namespace strata
