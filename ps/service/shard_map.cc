// SHARD_MAP: which lane owns which shard.
#include "ps/service/handlers.h"

namespace strata {

void HandleShardMap(LaneState& lane, Request request) {
  lane.Reply(request.reply_to(), {}, {wire::EncodeShardMap(*lane.config.map)});
}

}  // namespace strata
