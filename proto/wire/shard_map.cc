#include "proto/wire/shard_map.h"

#include <fmt/format.h>

#include <tuple>

#include "proto/wire/bytes.h"

namespace strata::wire {
namespace {

constexpr size_t kHeadBytes = 8;  // epoch, lane count, reserved

Status CheckLanes(std::span<const LaneName> lanes) {
  for (size_t i = 1; i < lanes.size(); ++i) {
    if (std::tie(lanes[i - 1].server, lanes[i - 1].lane) >=
        std::tie(lanes[i].server, lanes[i].lane)) {
      return Invalid(fmt::format("shard map: lane {}/{} does not follow lane {}/{}",
                                 lanes[i].server, lanes[i].lane, lanes[i - 1].server,
                                 lanes[i - 1].lane));
    }
  }
  return {};
}

}  // namespace

Result<ShardMap> MakeShardMap(std::span<const uint16_t> lanes_per_server) {
  ShardMap map;
  map.epoch = 1;
  for (size_t server = 0; server < lanes_per_server.size(); ++server) {
    const uint16_t lanes = lanes_per_server[server];
    if (lanes == 0 || map.lanes.size() + lanes > kShards) {
      return Invalid(
          fmt::format("shard map: server {} has {} lanes; each server needs 1 or more, "
                      "and all together at most {}",
                      server, lanes, kShards));
    }
    for (uint16_t lane = 0; lane < lanes; ++lane) {
      map.lanes.push_back({static_cast<uint16_t>(server), lane});
    }
  }
  if (map.lanes.empty()) return Invalid("shard map: there is no server");
  for (size_t shard = 0; shard < kShards; ++shard) {
    map.owner[shard] = static_cast<uint16_t>(shard * map.lanes.size() / kShards);
  }
  return map;
}

Frame EncodeShardMap(const ShardMap& map) {
  STRATA_CHECK(map.lanes.size() <= kShards);
  ByteWriter writer;
  writer.Put(map.epoch);
  writer.Put(static_cast<uint16_t>(map.lanes.size()));
  writer.Put(uint16_t{0});
  for (const LaneName& lane : map.lanes) {
    writer.Put(lane.server);
    writer.Put(lane.lane);
  }
  for (const uint16_t owner : map.owner) writer.Put(owner);
  return writer.Take();
}

Result<ShardMap> DecodeShardMap(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  ShardMap map;
  map.epoch = reader.Get<uint32_t>();
  const auto lanes = reader.Get<uint16_t>();
  if (reader.Get<uint16_t>() != 0) return Invalid("shard map: reserved bytes must be 0");
  const size_t expected = kHeadBytes + size_t{lanes} * 4 + size_t{kShards} * 2;
  if (lanes == 0 || lanes > kShards || bytes.size() != expected) {
    return Invalid(fmt::format("shard map: {} lanes (1 to {}) are {} bytes, found {}", lanes,
                               kShards, expected, bytes.size()));
  }
  map.lanes.resize(lanes);
  for (LaneName& lane : map.lanes) {
    lane.server = reader.Get<uint16_t>();
    lane.lane = reader.Get<uint16_t>();
  }
  STRATA_TRY(CheckLanes(map.lanes));
  for (size_t shard = 0; shard < kShards; ++shard) {
    map.owner[shard] = reader.Get<uint16_t>();
    if (map.owner[shard] >= lanes) {
      return Invalid(fmt::format("shard map: shard {} belongs to lane {} of {}", shard,
                                 map.owner[shard], lanes));
    }
  }
  return map;
}

}  // namespace strata::wire
