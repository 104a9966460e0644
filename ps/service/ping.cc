// PING: the lane's thread is alive.
#include "ps/service/handlers.h"

namespace strata {

void HandlePing(LaneState& lane, Request request) { lane.Reply(request.reply_to(), {}); }

}  // namespace strata
