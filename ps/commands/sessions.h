// Commands about a connection, and places of clients that write.
#pragma once

#include <vector>

#include "ps/shard/lane_state.h"
#include "strata/status.h"

namespace strata {

void HandleHello(LaneState& lane, Request request);
void HandleShardMap(LaneState& lane, Request request);
void HandlePing(LaneState& lane, Request request);
void HandleLeave(LaneState& lane, Request request);
void HandleControl(LaneState& lane, Request request);

// The lane forgets the client's writes, here and in the log, and applies none of it any more.
// kDiskFull: nothing has changed.
Status EndSession(LaneState& lane, const ClientId& client);

// A client that is new here gets a place where others are gone: idle for long, or without a
// connection. kUnavailable when places will be free soon; kDiskFull.
Status MakeRoom(LaneState& lane, const ClientId& client, TimeNs now);
std::vector<LaneClient> ListClients(LaneState& lane, TimeNs now);
Status EvictClient(LaneState& lane, const ClientId& client);

}  // namespace strata
