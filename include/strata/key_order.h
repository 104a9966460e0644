// The order of keys in which a client of several servers sends a batch as it lies: those of one
// connection side by side, and among them those of one server. Whoever chooses an order of keys
// chooses this one.
#pragma once

#include <cstdint>

#include "strata/hash.h"
#include "strata/row.h"

namespace strata {

// Two bits of a key's hash (Mix64) divide the keys of a client among its connections, by quarters.
// The ten bits above them say which shard a key is in (docs/protocol.md).
inline constexpr uint32_t kKeyQuarters = 4;
inline constexpr uint32_t kShardsOfQuarter = 1024;
inline constexpr uint32_t kKeyGroups = kKeyQuarters * kShardsOfQuarter;

constexpr uint32_t KeyQuarter(uint64_t hash) { return hash >> 52 & (kKeyQuarters - 1); }

// Keys are in key order when their groups rise.
constexpr uint32_t KeyGroup(Key key) {
  const uint64_t hash = Mix64(key);
  return KeyQuarter(hash) * kShardsOfQuarter + static_cast<uint32_t>(hash >> 54);
}

}  // namespace strata
