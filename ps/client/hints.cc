#include "ps/client/hints.h"

#include <algorithm>

namespace strata::client {

bool Hints::OfUse(uint32_t table) const {
  return std::ranges::any_of(lanes_,
                             [&](const Lane& lane) { return !lane.of_no_use.contains(table); });
}

bool Hints::MaySend(uint16_t lane, uint32_t table, TimeNs now) {
  Lane& state = lanes_[lane];
  if (state.of_no_use.contains(table)) return false;
  if (state.sent + kLostAfter <= now) state.unanswered.clear();
  return state.unanswered.size() < kUnansweredMax;
}

void Hints::NoteSent(uint16_t lane, uint64_t request_id, TimeNs now) {
  lanes_[lane].unanswered.insert(request_id);
  lanes_[lane].sent = now;
}

void Hints::NoteReply(const wire::Header& reply) {
  if (reply.command != wire::Command::kPrefetch) return;
  for (Lane& lane : lanes_) {
    if (lane.unanswered.erase(reply.request_id) == 0) continue;
    if (reply.status == 0 && reply.is(wire::kFlagDone)) lane.of_no_use.insert(reply.table);
  }
}

}  // namespace strata::client
