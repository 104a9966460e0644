// Which lane owns which key. A table is cut into 1,024 virtual shards by a frozen hash of the key;
// the map says which lane of which server holds each shard, and carries an epoch that grows
// whenever it changes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/message_port.h"
#include "strata/status.h"

namespace strata::wire {

constexpr uint32_t kShards = 1024;

// Frozen: checkpoints and servers of other versions rely on it. Tables inside a lane hash with
// other bits of Mix64(key) than these.
constexpr uint32_t ShardOfHash(uint64_t hash) { return static_cast<uint32_t>(hash >> 54); }
constexpr uint32_t ShardOf(uint64_t key) { return ShardOfHash(Mix64(key)); }

struct LaneName {
  uint16_t server = 0;  // index of the server in the machine list
  uint16_t lane = 0;    // index of the lane in the server
  friend bool operator==(const LaneName&, const LaneName&) = default;
};

struct ShardMap {
  uint32_t epoch = 0;
  std::vector<LaneName> lanes;            // all lanes of the cluster, by (server, lane)
  std::array<uint16_t, kShards> owner{};  // shard -> index into lanes

  uint16_t LaneOf(uint64_t key) const { return owner[ShardOf(key)]; }
  uint16_t LaneOfHash(uint64_t hash) const { return owner[ShardOfHash(hash)]; }  // Mix64(key)
  friend bool operator==(const ShardMap&, const ShardMap&) = default;
};

// Equal contiguous ranges of shards over all lanes, in order; what a cluster starts with (epoch 1).
// lanes_per_server holds one entry a server, each 1 or more; at most kShards lanes in all.
Result<ShardMap> MakeShardMap(std::span<const uint16_t> lanes_per_server);

// The payload of a SHARD_MAP reply.
Frame EncodeShardMap(const ShardMap& map);
Result<ShardMap> DecodeShardMap(std::span<const std::byte> bytes);

}  // namespace strata::wire
