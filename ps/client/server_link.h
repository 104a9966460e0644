// What the client core knows of one server: its endpoints, its life, and signs of life. Internal to
// ps/client.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "proto/wire/commands.h"
#include "proto/wire/shard_map.h"
#include "strata/status.h"

namespace strata::client {

// Before silence means anything: a pause of our own process blames no server.
inline constexpr int kPingsUnansweredMin = 2;

// Not thread-safe.
struct ServerLink {
  std::string address;   // "host:port" or "inproc://name", as the caller wrote it
  uint16_t index = 0;    // in the machine list
  bool greeted = false;  // HELLO and SHARD_MAP are answered
  wire::HelloReply hello;
  wire::ShardMap map;
  TimeNs next_greeting = 0;
  TimeNs last_heard = 0;  // or when we began to wait for it
  TimeNs next_ping = kNever;
  int pings_unanswered = 0;
  TimeNs away_since = kNever;  // since when it is waited for and does not serve
  size_t requests_in_flight = 0;
  uint64_t incarnation = 0;  // the latest that it was heard as; its hello may be of an earlier one
  // The boot that was greeted last, and its nonce: another nonce with this number, or a later boot
  // that remembers another one, serves a copy of the state. 0: not known.
  uint64_t greeted_incarnation = 0;
  uint32_t boot_nonce = 0;
  uint64_t writes_acknowledged = 0;
  uint64_t unlogged_acknowledged = 0;  // at level applied, by this boot: the next may not know them
  Status lost;                         // it came back without what it acknowledged: final
  Status last_error;                   // what it answered last to a greeting

  // The newest version of the protocol that both sides speak, once it is greeted.
  uint16_t version() const;
  bool InThisProcess() const { return address.starts_with("inproc://"); }
  std::string MainEndpoint() const;
  std::string LaneEndpoint(uint16_t lane) const;
  // "server 1 (10.0.0.2:7600)"
  std::string Name() const;

  // kInvalid when the server's place in the machine list is not the one it has here; kRefused when
  // no version of the protocol is common.
  Status CheckHello(const wire::HelloReply& reply, size_t servers) const;
  // kInvalid when the map is not about `servers` servers, or gives this one other lanes than it
  // has.
  Status CheckMap(const wire::ShardMap& reply, size_t servers) const;

  // What was acknowledged and is gone, or may be: its next life has another lineage; it is of the
  // same, but what was acknowledged as applied need not have been in the log; nobody knows, and
  // `allowed` says what allowed no longer silence.
  Status AnotherLineage(const wire::ShardMap& cluster) const;
  Status AnotherBoot(const wire::ShardMap& cluster) const;
  Status AnotherCopy(const wire::ShardMap& cluster, uint32_t nonce) const;
  Status Silent(const wire::ShardMap& cluster, TimeNs silence, std::string_view allowed) const;
};

// An incarnation is a lineage and, in its last 16 bits, a boot: docs/protocol.md.
bool SameLineage(uint64_t a, uint64_t b);
// Whether `a` is a later boot than `b`, of the same lineage.
bool LaterBoot(uint64_t a, uint64_t b);

// "512..1023", "0..99, 300..399"
std::string ShardRanges(const wire::ShardMap& map, uint16_t server);

}  // namespace strata::client
