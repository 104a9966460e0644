// STATS: the counts of this lane's part of a table.
#include "ps/client/table_wire.h"
#include "ps/service/handlers.h"

namespace strata {

void HandleStats(LaneState& lane, Request request) {
  const Result<LocalTable*> table = lane.FindTable(request.header);
  if (!table.ok()) return lane.Reply(request.reply_to(), table.status());
  lane.Reply(request.reply_to(), {}, {wire::EncodeStats(ToWire((*table)->Stats()))});
}

}  // namespace strata
