// PUSH: gradients in, the optimizer's rule runs here. A synchronous one waits for the other ranks;
// the last to come closes the step: the gradients are summed in rank order and applied once. Others
// are an update each; those of a table that prefers large batches are gathered, and applied
// together.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ps/commands/dispatch.h"
#include "ps/commands/rows.h"

namespace strata {
namespace {

// The pushes of a step, or one alone, which are one update: it was applied by the record `lsn`, or
// not at all.
void AnswerPushes(LaneState& lane, std::span<const ParkedPush> pushes, const Result<Lsn>& applied) {
  const Status& status = applied.status();
  for (const ParkedPush& push : pushes) {
    if (applied.ok()) {
      lane.dedup.Decide(push.client, push.sequence, status, *applied);
      lane.metrics.pushed_keys.Add(push.keys.size());
    } else {
      lane.dedup.Withdraw(push.client, push.sequence);
    }
    for (const ReplyTo& to : push.reply_to) {
      AnswerWrite(lane, to, status, applied.ok() ? *applied : 0, push.then);
    }
  }
}

Result<Lsn> AppendPushes(LaneState& lane, std::span<const ParkedPush> pushes) {
  if (!lane.changing) lane.changing.emplace();
  if (!lane.config.durable) return Lsn{0};
  RecordBody body;
  for (const ParkedPush& push : pushes) {
    body.Add(push.request);
    body.Add(std::as_bytes(std::span(push.keys)));
    body.Add(std::as_bytes(push.gradients.span()));
  }
  return lane.Append(RecordKind::kWrites, body.pieces());
}

std::vector<GradientPart> PartsOf(std::span<const ParkedPush> pushes) {
  std::vector<GradientPart> parts;
  for (const ParkedPush& push : pushes) parts.push_back({push.keys, push.gradients.span()});
  return parts;
}

// Applies one update, to all rows or none.
Result<Lsn> ApplyPushes(LaneState& lane, LocalTable& table, std::span<const ParkedPush> pushes,
                        uint64_t step) {
  const std::vector<GradientPart> parts = PartsOf(pushes);
  STRATA_TRY(lane.Count(Refusal::kMemory,
                        OrOutOfMemory("an update", [&] { return table.PrepareUpdate(parts); })));
  STRATA_ASSIGN(const Lsn lsn, AppendPushes(lane, pushes));
  table.CommitUpdate(step);
  return lsn;
}

// Closes every step that is complete: pushes of a later one may have come before.
void CloseSteps(LaneState& lane, LocalTable& table, const SyncMember& member, TimeNs now) {
  while (std::optional<std::vector<ParkedPush>> pushes = lane.barrier.TakeComplete(member)) {
    const Result<Lsn> applied = ApplyPushes(lane, table, *pushes, lane.barrier.OpenStep(member));
    AnswerPushes(lane, *pushes, applied);
    if (!applied.ok()) {
      lane.NoteRoom(applied.status());
      // The step stays open and may be pushed again, but by ranks that have heard of the error: who
      // waits for its rows hears of it too, and not only at its deadline.
      for (const ParkedPull& pull : lane.barrier.TakePulls(member)) {
        lane.Reply(pull.reply_to, applied.status());
      }
      return;
    }
    for (const ParkedPull& pull : lane.barrier.Close(member)) {
      if (pull.deadline > now) {
        AnswerPull(lane, table, pull.reply_to, pull.keys);
      } else {
        lane.metrics.expired.Add();
        lane.Reply(pull.reply_to,
                   DeadlineExceeded("the step before closed too late for this pull"));
      }
    }
  }
}

struct Gradients {
  LocalTable* table = nullptr;
  std::vector<Key> keys;
  RowsIn gradients;
};

ParkedPush Parked(Request& request, std::vector<Key> keys, RowsIn gradients) {
  return {.reply_to = {request.reply_to()},
          .request = request.header,
          .client = request.client(),
          .sequence = request.header.sequence,
          .keys = std::move(keys),
          .gradients = std::move(gradients),
          .then = std::move(request.then),
          .deadline = request.deadline};
}

Status ParkPush(LaneState& lane, LocalTable& table, Request& request, std::vector<Key> keys,
                RowsIn gradients) {
  const MustAllocate must;  // the barrier and the window know of it, or neither
  const SyncMember member = MemberOf(request);
  STRATA_TRY(lane.barrier.Claim(member, true, request.now));
  // A step that has begun is work in flight, which draining waits for.
  if (!lane.barrier.HasBegun(member)) STRATA_TRY(lane.CheckNotDraining());
  STRATA_TRY(lane.Count(
      Refusal::kQueue,
      lane.barrier.AddPush(member, Parked(request, std::move(keys), std::move(gradients)))));
  lane.dedup.Park(member.client, request.header.sequence);
  CloseSteps(lane, table, member, request.now);
  return {};
}

// No optimizer counts farther, and what is added to it does not overflow.
constexpr uint64_t kStepMax = uint64_t{1} << 48;
// Steps that a job may go on by without a push to this lane's part of a table.
constexpr uint64_t kStepsPerSecond = 1024;

Status CheckStep(LaneState& lane, const LocalTable& table, const Request& request) {
  const uint64_t step = request.header.step;
  if (lane.replayed != 0) return {};  // an older version let others in
  if (step == 0 || step > kStepMax) {
    return Invalid(fmt::format(
        "table '{}': a push needs its optimizer time: expected a step of 1 to {}, found {}",
        table.spec().name, kStepMax, step));
  }
  TimeNs& last = lane.last_push.emplace(request.header.table, lane.serves_since).first->second;
  const auto milliseconds = static_cast<uint64_t>((request.now - last) / kMillisecond);
  STRATA_TRY(table.CheckStep(step, milliseconds * kStepsPerSecond / 1000));
  last = request.now;
  return {};
}

Result<Gradients> Decode(LaneState& lane, const Request& request) {
  Gradients out;
  STRATA_ASSIGN(out.table, lane.FindTable(request.header));
  STRATA_ASSIGN(out.keys, OwnedKeys(lane, request));
  STRATA_ASSIGN(out.gradients, RowsOf(*out.table, request));
  if (request.then) STRATA_TRY(CheckRowsOut(*out.table, request.then->size(), 0));
  STRATA_TRY(CheckStep(lane, *out.table, request));
  return out;
}

void Gather(LaneState& lane, Request& request, Gradients push) {
  const MustAllocate must;
  LaneState::GatheredPushes& gathered = lane.gathered_pushes;
  if (gathered.table != push.table || gathered.pushes.size() == LocalTable::kUpdatesMax ||
      gathered.keys + push.keys.size() > kGatheredKeysMax) {
    ApplyGathered(lane);
  }
  lane.dedup.Park(request.client(), request.header.sequence);
  gathered.table = push.table;
  gathered.keys += push.keys.size();
  gathered.pushes.push_back(Parked(request, std::move(push.keys), std::move(push.gradients)));
}

// The records of the first of them, which are applied; the others have to come one by one.
std::vector<Lsn> ApplyTogether(LaneState& lane, LocalTable& table,
                               std::span<const ParkedPush> pushes) {
  std::vector<Lsn> records;
  const std::vector<GradientPart> updates = PartsOf(pushes);
  const auto prepare = [&] { return table.PrepareUpdates(updates); };
  if (updates.size() < 2 || !OrOutOfMemory("updates", prepare).ok()) return records;
  std::vector<uint64_t> steps;
  for (const ParkedPush& push : pushes) {
    const Result<Lsn> lsn = AppendPushes(lane, {&push, 1});
    if (!lsn.ok()) break;
    records.push_back(*lsn);
    steps.push_back(push.request.step);
  }
  table.CommitUpdates(steps);
  return records;
}

}  // namespace

void ApplyGathered(LaneState& lane) {
  if (lane.gathered_pushes.pushes.empty()) return;
  const MustAllocate must;
  const LaneState::GatheredPushes gathered = std::exchange(lane.gathered_pushes, {});
  const std::span<const ParkedPush> pushes(gathered.pushes);
  const std::vector<Lsn> together = ApplyTogether(lane, *gathered.table, pushes);
  for (size_t i = 0; i < pushes.size(); ++i) {
    const std::span<const ParkedPush> one = pushes.subspan(i, 1);
    const Result<Lsn> applied = i < together.size()
                                    ? Result<Lsn>(together[i])
                                    : ApplyPushes(lane, *gathered.table, one, one[0].request.step);
    AnswerPushes(lane, one, applied);
    lane.NoteRoom(applied.status());
  }
}

bool JoinGathered(LaneState& lane, const Request& request) {
  for (ParkedPush& push : lane.gathered_pushes.pushes) {
    if (push.client != request.client() || push.sequence != request.header.sequence) continue;
    push.reply_to.push_back(request.reply_to());
    return true;
  }
  return false;
}

Result<Applied> ApplyPush(LaneState& lane, Request& request) {
  STRATA_ASSIGN(Gradients push, Decode(lane, request));
  if (request.header.is(wire::kFlagSync)) {
    ApplyGathered(lane);
    request.payload.clear();  // decoded: what waits must not hold its bytes twice
    STRATA_TRY(
        ParkPush(lane, *push.table, request, std::move(push.keys), std::move(push.gradients)));
    return Applied();
  }
  STRATA_TRY(lane.CheckNotDraining());
  if (push.table->PrefersLargeBatches() && !request.then && lane.replayed == 0) {
    Gather(lane, request, std::move(push));
    return Applied();
  }
  const GradientPart part{push.keys, push.gradients.span()};
  STRATA_TRY(lane.Count(Refusal::kMemory, push.table->PrepareUpdate({&part, 1})));
  STRATA_ASSIGN(const Lsn lsn, lane.AppendWrite(request));
  push.table->CommitUpdate(request.header.step);
  lane.metrics.pushed_keys.Add(push.keys.size());
  return Applied(lsn);
}

Status ReplayStep(LaneState& lane, std::vector<Request> pushes) {
  std::vector<Gradients> decoded;
  std::vector<GradientPart> parts;
  std::vector<SyncMember> members;
  decoded.reserve(pushes.size());
  for (const Request& request : pushes) {
    STRATA_ASSIGN(Gradients push, Decode(lane, request));
    const Gradients& kept = decoded.emplace_back(std::move(push));
    parts.push_back({kept.keys, kept.gradients.span()});
    members.push_back(MemberOf(request));
  }
  const bool one_step = std::ranges::all_of(members, [&](const SyncMember& member) {
    return member.table == members[0].table && member.step == members[0].step &&
           member.group.id == members[0].group.id;
  });
  if (!one_step) return Corrupt("logged pushes of one step that belong to several");
  LocalTable& table = *decoded.front().table;
  STRATA_TRY(table.ApplyGradients(parts, members.front().step));
  lane.barrier.RestoreClosed(members, pushes.front().now);
  return {};
}

}  // namespace strata
