// Keys as somebody chooses them who knows the code and none of a process's secrets.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.h"

namespace strata::test {

// `count` distinct keys a list, up to 2^20. Those of a list have the same Mix64 but for some twenty
// bits in a row: the lowest, the highest, some between, or the highest ten and the lowest ten.
inline std::vector<std::vector<uint64_t>> ChosenKeys(size_t count) {
  std::vector<std::vector<uint64_t>> lists;
  for (const int from : {0, 16, 32, 44, 54}) {
    std::vector<uint64_t>& keys = lists.emplace_back();
    for (uint64_t i = 0; i < count; ++i) {
      keys.push_back(Unmix64(0x0f1e2d3c4b5a6978ULL ^ std::rotl(i, from)));
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
