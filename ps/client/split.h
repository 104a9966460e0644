// Cutting a batch of keys into messages: first by lane, then by size. Internal to ps/client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/message_port.h"
#include "base/thread/work_pool.h"
#include "proto/wire/shard_map.h"
#include "storage/row_schema.h"
#include "strata/key_order.h"
#include "strata/status.h"
#include "strata/table_store.h"

namespace strata::client {

// The keys that one of `count` connections of a store carries: 1, 2 or 4. It goes by other bits of
// their hash than shards do, so that every lane has keys of every share.
struct KeyShare {
  uint32_t index = 0;
  uint32_t count = 1;
  uint32_t first_quarter() const { return index * kKeyQuarters / count; }
  uint32_t end_quarter() const { return (index + 1) * kKeyQuarters / count; }
  bool Has(uint64_t hash) const {
    return KeyQuarter(hash) >= first_quarter() && KeyQuarter(hash) < end_quarter();
  }
};

// For each lane the positions of its keys that `share` has, in the order of the batch. `threads`
// help with many keys, here and below; null: the calling thread works alone.
std::vector<std::vector<uint32_t>> SplitByLane(std::span<const Key> keys, const wire::ShardMap& map,
                                               KeyShare share, WorkPool* threads);
// The same of keys that are in key order, without a look at each.
std::vector<std::vector<uint32_t>> SplitInOrder(std::span<const Key> keys,
                                                const wire::ShardMap& map, KeyShare share);

// Of the `keys` of a part of an operation, whichever of the two they allow.
inline std::vector<std::vector<uint32_t>> SplitKeys(const TablePart& part,
                                                    std::span<const Key> keys,
                                                    const wire::ShardMap& map, KeyShare share,
                                                    WorkPool* threads) {
  return part.in_key_order ? SplitInOrder(keys, map, share)
                           : SplitByLane(keys, map, share, threads);
}

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

// The rows of row_bytes at these positions, one after another. Those that lie so already are not
// copied when `all` has an owner.
Frame CopyRows(std::span<const uint32_t> positions, std::span<const std::byte> all,
               size_t row_bytes, const std::shared_ptr<const void>& owner, WorkPool* threads);
// The reverse: `rows` to their positions in `all`.
void PlaceRows(std::span<const uint32_t> positions, std::span<const std::byte> rows,
               size_t row_bytes, std::byte* all, WorkPool* threads);

// The share at `positions` of a batch's keys (width 1) or rows.
template <typename T>
Frame RowsAt(std::span<const uint32_t> positions, std::span<const T> all, size_t width,
             const std::shared_ptr<const void>& owner, WorkPool* threads) {
  return CopyRows(positions, std::as_bytes(all), width * sizeof(T), owner, threads);
}

}  // namespace strata::client
