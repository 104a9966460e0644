// PREFETCH: a hint. The table brings the rows of these keys up beside the requests; the reply says
// with kFlagDone that it has no need of hints.
#include "ps/service/handlers.h"

namespace strata {

void HandlePrefetch(LaneState& lane, Request request) {
  const ReplyTo to = request.reply_to();
  const Result<LocalTable*> table = lane.FindTable(request.header);
  if (!table.ok()) return lane.Reply(to, table.status());
  const Result<std::vector<Key>> keys = OwnedKeys(lane, request);
  if (!keys.ok()) return lane.Reply(to, keys.status());
  wire::Header header = wire::ReplyHeader(to.request, lane.incarnation());
  if (!(*table)->Prefetch(*keys)) header.flags |= wire::kFlagDone;
  lane.ReplyWith(to.peer, header, {});
}

}  // namespace strata
