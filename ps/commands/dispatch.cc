// Dispatch hands a request that a lane has let in to its handler. HandleWrite does what all writes
// have in common.
#include "ps/commands/dispatch.h"

#include <fmt/format.h>

#include "base/human_text.h"
#include "ps/commands/checkpoints.h"
#include "ps/commands/command_handlers.h"
#include "ps/commands/rows.h"
#include "ps/commands/sessions.h"

namespace strata {
namespace {

// A definite answer is remembered: a repeat must not get another one. What was refused for now, or
// failed, may be tried again under the same sequence.
bool IsDefinite(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
    case StatusCode::kInvalid:
    case StatusCode::kNotFound:
    case StatusCode::kExists:
      return true;
    default:
      return false;
  }
}

Status CheckWrite(const LaneState& lane, const wire::Header& header) {
  if (header.client_hi == 0 && header.client_lo == 0) {
    return Invalid("a write needs its client's name, found zeros");
  }
  // While the disk stands still they would pile up.
  constexpr size_t kReplyBytes = 1024;
  const size_t waiting = lane.waiting_for_sync.size() * kReplyBytes;
  if (waiting > lane.config.queue_bytes_max) {
    return Unavailable(
        fmt::format("{} replies wait for the disk, as many as the lane holds "
                    "(server.queue_memory): send the write again later",
                    lane.waiting_for_sync.size()));
  }
  return lane.CheckLevel(static_cast<AckLevel>(header.ack));
}

// The write came before and waits: the retry is answered with it.
void JoinParked(LaneState& lane, const Request& request) {
  if (JoinRestore(lane, request) || JoinGathered(lane, request)) return;
  const bool joined =
      request.header.is(wire::kFlagSync) &&
      lane.barrier.AddRetry(MemberOf(request), request.reply_to(), request.deadline);
  if (joined) return;
  lane.Reply(request.reply_to(),
             Invalid(fmt::format("sequence {} belongs to another write of this client, which waits",
                                 request.header.sequence)));
}

// A definite refusal: remembered, here and in the log. The LSN, as Apply returns it.
Result<Lsn> Remember(LaneState& lane, const wire::Header& header, const Status& answer) {
  RecordBody body;
  const std::vector<std::byte> bytes = EncodeAnswer({header, answer});
  body.Add(bytes);
  return lane.Append(RecordKind::kAnswer, body.pieces());
}

}  // namespace

Status HalfDone() {
  return Failed(
      "memory ran out in the middle of a change; a server with a log is right again once it has "
      "been started anew, and one without may have applied a part of it");
}

void EndWithoutMemory(LaneState& lane, const ReplyTo& to, size_t replies) {
  const MustAllocate must;
  if (lane.changing && lane.config.durable) lane.log_failure = HalfDone();
  if (lane.out->size() > replies) return;  // it is answered
  lane.Reply(to, lane.changing ? HalfDone()
                               : lane.Count(Refusal::kMemory,
                                            OutOfMemory("a request, of which nothing was done")));
}

void HandleWrite(LaneState& lane, Request request) {
  const ReplyTo to = request.reply_to();
  if (request.header.command == wire::Command::kPushPull) {
    if (const Status split = SplitPushPull(lane, request); !split.ok()) {
      return lane.Reply(to, split);
    }
  }
  const ClientId client = request.client();
  const uint64_t sequence = request.header.sequence;
  Status admitted = CheckWrite(lane, request.header);
  if (admitted.ok()) admitted = MakeRoom(lane, client, request.now);
  if (!admitted.ok()) return lane.Reply(to, admitted);
  const Result<DedupWindow::Known> known =
      lane.dedup.Look(client, sequence, request.header.settled_below, request.now);
  if (!known.ok()) return lane.Reply(to, lane.Count(Refusal::kClients, known.status()));
  lane.dedup.Hear(client, request.peer, request.now);  // it may be known only since now
  if (known->state != DedupWindow::State::kNew) {
    lane.metrics.repeated.Add();
    if (known->state == DedupWindow::State::kPending) return JoinParked(lane, request);
    return AnswerWrite(lane, to, known->answer, known->lsn, request.then);
  }
  if (const Status kept = lane.CheckNotLost(); !kept.ok()) return lane.Reply(to, kept);
  const Result<Applied> applied = Apply(lane, request);
  if (applied.ok() && !applied->has_value()) return;  // it waits
  lane.NoteRoom(applied.status());
  if (!IsDefinite(applied.status())) return lane.Reply(to, applied.status());
  const Result<Lsn> lsn =
      applied.ok() ? Result<Lsn>(**applied) : Remember(lane, request.header, applied.status());
  if (!lsn.ok()) return lane.Reply(to, lsn.status());
  lane.dedup.Decide(client, sequence, applied.status(), *lsn);
  if (request.erased) {
    const WriteAnswer answer{.frame = Frame::Own(std::vector<uint64_t>{*request.erased})};
    return lane.ReplyToWrite(to, applied.status(), *lsn, &answer);
  }
  AnswerWrite(lane, to, applied.status(), *lsn, request.then);
}

Result<Applied> Apply(LaneState& lane, Request& request) {
  const CommandHandler* const handler = FindHandler(request.header.command);
  if (handler == nullptr || handler->apply == nullptr) return Internal("no such write");
  return handler->apply(lane, request);
}

void Dispatch(LaneState& lane, Request request) {
  const CommandHandler* const handler = FindHandler(request.header.command);
  STRATA_CHECK(handler != nullptr);  // a test sees that there is one for each command
  handler->handle(lane, std::move(request));
}

Status CheckKeyCount(const LaneState& lane, size_t keys) {
  // What an older version has logged is applied again.
  if (keys <= wire::kKeysMax || lane.replayed != 0) return {};
  return Invalid(fmt::format("{} keys in a request; a lane takes {} at a time: send several", keys,
                             wire::kKeysMax));
}

Result<std::vector<Key>> OwnedKeys(const LaneState& lane, const Request& request) {
  STRATA_TRY(CheckKeyCount(lane, request.header.count));
  STRATA_ASSIGN(std::vector<Key> keys, wire::ReadKeys(request.payload[0], request.header.count));
  STRATA_TRY(lane.CheckOwned(keys));
  return keys;
}

Result<RowsIn> RowsOf(const LocalTable& table, const Request& request) {
  const TableSpec& spec = table.spec();
  // Without keys a client need not know the table's dimension.
  const bool nothing = request.header.count == 0 && request.header.width == 0;
  if (request.header.width != spec.dim && !nothing) {
    return Invalid(fmt::format("table '{}' has dimension {}, the request's rows have {}", spec.name,
                               spec.dim, Counted(request.header.width, "element")));
  }
  const Frame& frame = request.payload[1];
  STRATA_TRY(wire::CheckRows(frame, request.header.count, request.header.width));
  const size_t elements = frame.size() / sizeof(float);
  if (elements == 0) return RowsIn{};
  const auto* const values = reinterpret_cast<const float*>(frame.bytes().data());
  const bool aligned = reinterpret_cast<uintptr_t>(values) % alignof(float) == 0;
  if (aligned && table.ReadsInPlace({values, elements})) {
    return RowsIn{{frame.owner(), values}, elements};
  }
  const std::shared_ptr<float[]> copy = table.RoomForRows(elements);
  memcpy(copy.get(), values, frame.size());
  return RowsIn{copy, elements};
}

SyncMember MemberOf(const Request& request) {
  const wire::Header& header = request.header;
  return {.table = header.table,
          .group = {.id = header.group,
                    .rank = header.rank,
                    .world = header.world,
                    .first_step = header.first_step},
          .step = header.step,
          .client = request.client()};
}

void AnswerEnded(LaneState& lane, StepBarrier::Ended ended) {
  for (const auto& [push, reason] : ended.pushes) {
    lane.dedup.Withdraw(push.client, push.sequence);
    for (const ReplyTo& to : push.reply_to) lane.Reply(to, reason);
  }
  for (const auto& [pull, reason] : ended.pulls) lane.Reply(pull.reply_to, reason);
}

}  // namespace strata
