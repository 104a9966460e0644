// SeededHash: where a key has its place in a hash table of this process. Keys come from clients and
// from data, and Mix64 can be undone: without a secret anyone could choose keys that all want one
// place, and each of them would cost a walk past the others.
//
// Only for places in memory. Whatever leaves the process or stays in files goes by Mix64: a key's
// shard, the order of a scan, an initial value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.h"
#include "base/random.h"

namespace strata {

// Its seed is drawn anew for each table. Tests may set one. For a given seed it is a bijection.
struct SeededHash {
  uint64_t seed = SystemRandom64();

  constexpr uint64_t operator()(uint64_t key) const { return SeededMix(key, seed); }
};

template <typename Value>
using SeededMap = std::unordered_map<uint64_t, Value, SeededHash>;
using SeededSet = std::unordered_set<uint64_t, SeededHash>;

}  // namespace strata
