// Cutting a batch of keys into messages: first by lane, then by size. Internal to ps/client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "proto/wire/shard_map.h"
#include "storage/row_schema.h"
#include "strata/status.h"

namespace strata::client {

// For each lane the positions of its keys, in the order of the batch.
std::vector<std::vector<uint32_t>> SplitByLane(std::span<const Key> keys,
                                               const wire::ShardMap& map);

// Cuts one lane's positions into runs of about `keys_max` keys. With `together`, all occurrences of
// a key stay in one piece, in their order, so that their gradients are still summed before the rule
// runs; a piece may then exceed keys_max, and kRefused says so when one would exceed keys_hard_max.
Result<std::vector<std::vector<uint32_t>>> SplitBySize(std::span<const Key> keys,
                                                       std::vector<uint32_t> positions,
                                                       size_t keys_max, size_t keys_hard_max,
                                                       bool together);

// Whether what is at these positions, which always ascend, lies side by side, so that it is copied
// in one go.
inline bool SideBySide(std::span<const uint32_t> positions) {
  return !positions.empty() && positions.back() - positions.front() + 1 == positions.size();
}

// The share at `positions` of a batch's keys (width 1) or rows.
template <typename T>
std::vector<T> RowsAt(std::span<const uint32_t> positions, std::span<const T> all, size_t width) {
  if (SideBySide(positions)) {
    const auto rows = all.subspan(positions[0] * width, positions.size() * width);
    return {rows.begin(), rows.end()};
  }
  std::vector<T> taken;
  taken.reserve(positions.size() * width);
  for (const uint32_t at : positions) {
    const auto row = all.subspan(at * width, width);
    taken.insert(taken.end(), row.begin(), row.end());
  }
  return taken;
}

}  // namespace strata::client
