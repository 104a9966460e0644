// HostilePeer: what nobody should send to a server, act by act: bytes that are no protocol,
// messages whose every field may be anything, floods, and connections that do nothing.
//
// A client without manners may also do what every client may: drop tables or restore a checkpoint.
// That would be no fault of the server, so a HostilePeer names only tables and collections of its
// own, asks for no restore of a checkpoint that exists, and does not shut the server down.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "proto/format/item_change.h"
#include "proto/wire/shard_map.h"
#include "ps/client/remote_store.h"
#include "strata/status.h"
#include "tests/soak/hostile/raw_line.h"

namespace strata::soak {

struct HostileTarget {
  std::vector<std::string> servers;  // their main addresses
  uint64_t cluster_id = 0;
  wire::ShardMap map;
  std::vector<uint16_t> lane_ports;  // in the order of the map's lanes
  std::vector<std::string> shared;   // names of the lanes' abstract sockets
  uint16_t http_port = 0;
};

// One thread.
class HostilePeer {
 public:
  HostilePeer(HostileTarget target, uint64_t seed);

  // Makes the tables and the collection that the acts are about, as any client may.
  Status Prepare();

  static std::vector<std::string_view> Acts();
  // Does the act of this index in Acts; bytes that it sent.
  uint64_t Run(size_t act);

 private:
  struct Act {
    std::string_view name;
    uint64_t (HostilePeer::*run)();
  };
  static const std::vector<Act>& All();

  uint64_t Garbage();
  uint64_t HalfGreetings();
  uint64_t IdleConnections();
  uint64_t RandomMessages();
  uint64_t LargeNumbers();
  uint64_t UnfinishedMessage();
  uint64_t PullsNobodyReads();
  uint64_t Pushes();
  uint64_t ParkedRequests();
  uint64_t Searches();
  uint64_t CollidingKeys();
  uint64_t ClientsThatGo();
  uint64_t LongWork();
  uint64_t IdleHttp();
  uint64_t BrokenHttp();
  uint64_t SharedGarbage();

  size_t AnyLane() { return random_.Below(target_.lane_ports.size()); }
  uint16_t AnyPort();
  RawLine Dial(size_t lane) { return RawLine(target_.lane_ports[lane]); }
  // A line to the lane, after the greeting of a client.
  RawLine Greeted(size_t lane);
  // Below `below`, and of a shard that the lane holds.
  uint64_t KeyOf(size_t lane, uint64_t below);
  std::vector<uint64_t> KeysOf(size_t lane, size_t count, uint64_t below);
  std::vector<format::ItemChange> DocumentsOf(size_t lane, uint64_t count, uint32_t tokens);
  // Keeps the connection open, until newer ones take its place. Bytes that were sent over it.
  uint64_t Keep(RawLine line);
  wire::Header Request(wire::Command command);
  wire::Header Write(wire::Command command);
  Message AnyMessage();
  Frame AnyBytes(size_t bytes_max);
  uint64_t AnyNumber();

  const HostileTarget target_;
  Random random_;
  std::deque<RawLine> kept_;
};

}  // namespace strata::soak
