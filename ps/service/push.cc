// PUSH: gradients in, the optimizer's rule runs here. A synchronous one waits for the other ranks;
// the last to come closes the step: the gradients are summed in rank order and applied once.
#include <fmt/format.h>

#include "ps/service/handlers.h"

namespace strata {
namespace {

void AnswerStep(LaneState& lane, std::span<const ParkedPush> pushes, const Status& status) {
  for (const ParkedPush& push : pushes) {
    if (status.ok()) {
      lane.dedup.Decide(push.client, push.sequence, status);
      lane.metrics.pushed_keys.Add(push.keys.size());
    } else {
      lane.dedup.Withdraw(push.client, push.sequence);
    }
    for (const ReplyTo& to : push.reply_to) lane.Reply(to, status);
  }
}

// Closes every step that is complete: pushes of a later one may have come before.
void CloseSteps(LaneState& lane, LocalTable& table, const SyncMember& member) {
  while (std::optional<std::vector<ParkedPush>> pushes = lane.barrier.TakeComplete(member)) {
    std::vector<GradientPart> parts;
    for (const ParkedPush& push : *pushes) parts.push_back({push.keys, push.gradients});
    const Status status = table.ApplyGradients(parts, lane.barrier.OpenStep(member));
    AnswerStep(lane, *pushes, status);
    if (!status.ok()) {
      // The step stays open and may be pushed again, but by ranks that have heard of the error: who
      // waits for its rows hears of it too, and not only at its deadline.
      for (const ParkedPull& pull : lane.barrier.TakePulls(member)) {
        lane.Reply(pull.reply_to, status);
      }
      return;
    }
    for (const ParkedPull& pull : lane.barrier.Close(member)) {
      AnswerPull(lane, table, pull.reply_to, pull.keys);
    }
  }
}

Result<WriteState> ParkPush(LaneState& lane, LocalTable& table, const Request& request,
                            std::vector<Key> keys, std::vector<float> gradients) {
  const SyncMember member = MemberOf(request);
  STRATA_TRY(lane.barrier.Claim(member, true, request.now));
  // A step that has begun is work in flight, which draining waits for.
  if (!lane.barrier.HasBegun(member)) STRATA_TRY(lane.CheckNotDraining());
  STRATA_TRY(lane.barrier.AddPush(member, {.reply_to = {request.reply_to()},
                                           .client = member.client,
                                           .sequence = request.header.sequence,
                                           .keys = std::move(keys),
                                           .gradients = std::move(gradients),
                                           .deadline = request.deadline}));
  lane.dedup.Park(member.client, request.header.sequence);
  CloseSteps(lane, table, member);
  return WriteState::kParked;
}

}  // namespace

Result<WriteState> ApplyPush(LaneState& lane, Request& request) {
  STRATA_ASSIGN(LocalTable * table, lane.FindTable(request.header.table));
  STRATA_ASSIGN(std::vector<Key> keys, OwnedKeys(lane, request));
  STRATA_ASSIGN(std::vector<float> gradients, RowsOf(*table, request));
  if (request.header.step == 0) {
    return Invalid("a push needs its optimizer time: a step of 1 or more, found 0");
  }
  request.payload.clear();  // decoded: what waits must not hold its bytes twice
  if (request.header.is(wire::kFlagSync)) {
    return ParkPush(lane, *table, request, std::move(keys), std::move(gradients));
  }
  STRATA_TRY(lane.CheckNotDraining());
  const GradientPart part{keys, gradients};
  STRATA_TRY(table->ApplyGradients({&part, 1}, request.header.step));
  lane.metrics.pushed_keys.Add(keys.size());
  return WriteState::kDone;
}

}  // namespace strata
