// Keys as somebody chooses them who knows the code and none of a process's secrets.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.h"

namespace strata::test {

// The key of this Mix64: its steps backwards.
constexpr uint64_t Unmixed(uint64_t hash) {
  hash ^= hash >> 31 ^ hash >> 62;
  hash *= 0x319642b2d24d8ec3ULL;
  hash ^= hash >> 27 ^ hash >> 54;
  hash *= 0x96de1b173f119089ULL;
  hash ^= hash >> 30 ^ hash >> 60;
  return hash - 0x9e3779b97f4a7c15ULL;
}
static_assert(Mix64(Unmixed(0x123456789abcdef0ULL)) == 0x123456789abcdef0ULL);

// `count` distinct keys a list, up to 2^20. Those of a list have the same Mix64 but for some twenty
// bits in a row: the lowest, the highest, some between, or the highest ten and the lowest ten.
inline std::vector<std::vector<uint64_t>> ChosenKeys(size_t count) {
  std::vector<std::vector<uint64_t>> lists;
  for (const int from : {0, 16, 32, 44, 54}) {
    std::vector<uint64_t>& keys = lists.emplace_back();
    for (uint64_t i = 0; i < count; ++i) {
      keys.push_back(Unmixed(0x0f1e2d3c4b5a6978ULL ^ std::rotl(i, from)));
    }
  }
  // As a table of 2^n or of many other sizes would have them in one place that takes a key as it
  // is.
  for (const uint64_t step :
       {uint64_t{1} << 32, uint64_t{2} * 3 * 5 * 7 * 11 * 13 * 17 * 19 * 23}) {
    std::vector<uint64_t>& keys = lists.emplace_back();
    for (uint64_t i = 0; i < count; ++i) keys.push_back(i * step);
  }
  return lists;
}

}  // namespace strata::test
