// LEAVE: a client's last message. Its place is free for another one, and a late copy of one of its
// writes is refused. Without room for the record it keeps its place until it has been idle.
#include "ps/service/handlers.h"

namespace strata {

Status EndSession(LaneState& lane, const ClientId& client) {
  RecordBody body;
  const std::vector<std::byte> name = EncodeExpired(client);
  body.Add(name);
  STRATA_TRY(lane.Append(RecordKind::kExpired, body.pieces()).status());
  lane.dedup.Expire(client);
  return {};
}

void HandleLeave(LaneState& lane, Request request) {
  const ClientId client = request.client();
  Status left;
  if (lane.dedup.MayLeave(client)) left = EndSession(lane, client);
  lane.Reply(request.reply_to(), left);
}

}  // namespace strata
