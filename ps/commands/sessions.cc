// The places of clients whose writes a lane remembers: who gives one back, and who is asked to.
#include "ps/commands/sessions.h"

#include <fmt/format.h>

#include "base/human_text.h"

namespace strata {
namespace {

// A client that waits for an answer sends again within 8 s, over a new connection if need be: until
// then it may still ask for what was answered.
constexpr TimeNs kSilentMin = 10 * kSecond;
constexpr TimeNs kSearchEvery = kSecond;

// Whether its connection is there. A reply that no request asked for tells: clients drop it.
bool IsConnected(LaneState& lane, const KnownClient& client) {
  if (!lane.config.reaches) return true;
  if (client.peer.empty()) return false;
  wire::Header ping;
  ping.command = wire::Command::kPing;
  ping.cluster_id = lane.config.cluster_id;
  ping.client_hi = client.id.hi;
  ping.client_lo = client.id.lo;
  return lane.config.reaches({client.peer, wire::MakeReply(ping, lane.incarnation(), {}, {})});
}

// All clients that are gone, so that the next newcomers need no search. How many are gone, and may
// still come back.
Result<size_t> EndGoneSessions(LaneState& lane, TimeNs now) {
  size_t soon = 0;
  for (const KnownClient& client : lane.dedup.Clients()) {
    if (!lane.dedup.MayLeave(client.id) || IsConnected(lane, client)) continue;
    if (client.unsettled != 0 && now - client.last_seen < kSilentMin) {
      ++soon;
      continue;
    }
    STRATA_TRY(EndSession(lane, client.id));
  }
  return soon;
}

Status NoPlaceYet(const LaneState& lane, const std::string& why) {
  return Unavailable(
      fmt::format("{} clients write to server {} lane {}, the most that are kept; {}",
                  lane.dedup.clients(), lane.config.name.server, lane.config.name.lane, why));
}

}  // namespace

Status MakeRoom(LaneState& lane, const ClientId& client, TimeNs now) {
  if (const std::optional<ClientId> idle = lane.dedup.InTheWay(client, now)) {
    return EndSession(lane, *idle);
  }
  if (lane.dedup.HasPlaceFor(client)) return {};
  if (now < lane.next_place_search) {
    return NoPlaceYet(lane, "places of clients that are gone are looked for once a second");
  }
  lane.next_place_search = now + kSearchEvery;
  STRATA_ASSIGN(const size_t soon, EndGoneSessions(lane, now));
  if (soon == 0 || lane.dedup.HasPlaceFor(client)) return {};
  return NoPlaceYet(lane, fmt::format("the connections of {} of them have ended: their places are "
                                      "free in {} s at the most",
                                      soon, kSilentMin / kSecond));
}

std::vector<LaneClient> ListClients(LaneState& lane, TimeNs now) {
  std::vector<LaneClient> clients;
  for (const KnownClient& known : lane.dedup.Clients()) {
    clients.push_back({.id = known.id,
                       .is_connected = IsConnected(lane, known),
                       .idle = now - known.last_seen,
                       .pending = known.pending,
                       .unsettled = known.unsettled,
                       .credit = lane.credits.GrantedTo(known.id)});
  }
  return clients;
}

Status EvictClient(LaneState& lane, const ClientId& client) {
  for (const KnownClient& known : lane.dedup.Clients()) {
    if (known.id != client) continue;
    if (known.pending != 0) {
      return Refused(
          fmt::format("{} of client {} wait on server {} lane {}: evict it when they "
                      "are answered",
                      Counted(known.pending, "write"), ToString(client), lane.config.name.server,
                      lane.config.name.lane));
    }
    if (!lane.dedup.MayLeave(client)) {
      return Refused("no more names of clients that are gone can be kept");
    }
    return EndSession(lane, client);
  }
  return NotFound(fmt::format("client {} has no place on server {} lane {}", ToString(client),
                              lane.config.name.server, lane.config.name.lane));
}

}  // namespace strata
