// CUT: the number of a new checkpoint, and the cut on the lane that gives it.
#include <fmt/format.h>

#include <algorithm>

#include "ps/commands/checkpoints.h"
#include "storage/checkpoint/checkpoint_files.h"

namespace strata {
namespace {

// The newest number in the folder: a lane that comes back without its state learns there how far
// the others are.
uint32_t NewestThere(const CheckpointConfig& config) {
  const auto numbers = CheckpointNumbers(*config.disk, config.root);
  if (!numbers.ok()) return 0;
  const auto newest = std::ranges::find_if(*numbers, wire::CutOrNone);
  return newest == numbers->end() ? 0 : *newest;
}

Result<uint32_t> NextCut(LaneState& lane, const Request& request, uint32_t least) {
  CheckpointState& state = lane.checkpoint;
  const CheckpointTurn::Taker taker{request.client(), request.header.sequence};
  if (const uint32_t given = state.turn.GivenTo(taker, request.now); given != 0) return given;
  if (const uint32_t over = state.turn.Lapse(request.now); over != 0) {
    lane.Say(LogLevel::kWarning,
             fmt::format("checkpoint {} is given up: nothing was heard for {} s of who takes it",
                         over, CheckpointTurn::kSilenceMax / kSecond));
  }
  STRATA_TRY(lane.CheckNotLost());
  STRATA_TRY(state.turn.Ask(taker, request.now));
  if (state.cut >= wire::kCutMax) return Refused("there is no number left for another checkpoint");
  const uint32_t number = std::max(least, state.cut + 1);
  if (number == least) STRATA_TRY(CheckNewCut(lane, least, request.now));
  STRATA_TRY(CutLane(lane, number, request.now));
  state.turn.Give(taker, number, request.now);
  return number;
}

}  // namespace

Status CheckNewCut(LaneState& lane, uint32_t number, TimeNs now) {
  CheckpointState& state = lane.checkpoint;
  const auto take = [&] {
    return state.cut_limit.Take(std::max(state.cut, state.newest_there), number, now)
        .Prefixed(fmt::format("server {} lane {}", lane.config.name.server, lane.config.name.lane));
  };
  const Status allowed = take();
  if (allowed.ok() || !lane.config.checkpoints || now < state.next_look) return allowed;
  state.next_look = now + kSecond;
  state.newest_there = NewestThere(*lane.config.checkpoints);
  return take();
}

void HandleCut(LaneState& lane, Request request) {
  const ReplyTo to = request.reply_to();
  const Result<uint32_t> least = CheckpointNumberOf(lane, request);
  if (!least.ok()) return lane.Reply(to, least.status());
  if (const Status first = CheckFirstLane(lane); !first.ok()) return lane.Reply(to, first);
  if (request.header.is(wire::kFlagDone)) {
    lane.checkpoint.turn.End(request.client(), *least);
    return lane.Reply(to, {});
  }
  const Result<uint32_t> number = NextCut(lane, request, *least);
  if (!number.ok()) return lane.Reply(to, number.status());
  wire::Header header = wire::ReplyHeader(to.request, lane.incarnation());
  header.cursor = *number;
  lane.ReplyWith(to.peer, header, {});
}

}  // namespace strata
