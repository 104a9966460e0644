// Cutting a batch of keys into messages: first by lane, then by size. Internal to ps/client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/message_port.h"
#include "base/thread/work_pool.h"
#include "proto/wire/shard_map.h"
#include "storage/row_schema.h"
#include "strata/status.h"

namespace strata::client {

// The keys that one of `count` connections of a store carries. It goes by other bits of their hash
// than shards do, so that every lane has keys of every share.
struct KeyShare {
  uint32_t index = 0;
  uint32_t count = 1;
  bool Has(uint64_t hash) const { return ((hash >> 22 & UINT32_MAX) * count) >> 32 == index; }
};

// For each lane the positions of its keys that `share` has, in the order of the batch. `threads`
// help with many keys, here and below; null: the calling thread works alone.
std::vector<std::vector<uint32_t>> SplitByLane(std::span<const Key> keys, const wire::ShardMap& map,
                                               KeyShare share, WorkPool* threads);

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

// The rows of row_bytes at these positions, one after another.
Frame CopyRows(std::span<const uint32_t> positions, std::span<const std::byte> all,
               size_t row_bytes, WorkPool* threads);
// The reverse: `rows` to their positions in `all`.
void PlaceRows(std::span<const uint32_t> positions, std::span<const std::byte> rows,
               size_t row_bytes, std::byte* all, WorkPool* threads);

// The share at `positions` of a batch's keys (width 1) or rows, copied.
template <typename T>
Frame RowsAt(std::span<const uint32_t> positions, std::span<const T> all, size_t width,
             WorkPool* threads) {
  return CopyRows(positions, std::as_bytes(all), width * sizeof(T), threads);
}

}  // namespace strata::client
