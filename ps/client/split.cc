#include "ps/client/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "base/large_blocks.h"

namespace strata::client {
namespace {

// A thread takes so many at a time. With fewer, waking others takes longer than the work.
constexpr size_t kRunKeys = size_t{1} << 14;

// Calls copy(i, at, count) for rows i to i + count - 1 of those at the positions, which lie side by
// side from `at` on.
template <typename Copy>
void ForEachRun(std::span<const uint32_t> positions, WorkPool* threads, const Copy& copy) {
  RunPieces(threads, positions.size(), kRunKeys, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end;) {
      size_t next = i + 1;
      while (next < end && positions[next] == positions[next - 1] + 1) ++next;
      copy(i, size_t{positions[i]}, next - i);
      i = next;
    }
  });
}

std::vector<std::vector<uint32_t>> InRuns(const std::vector<uint32_t>& positions, size_t keys_max) {
  std::vector<std::vector<uint32_t>> pieces;
  for (size_t from = 0; from < positions.size(); from += keys_max) {
    const auto begin = positions.begin() + static_cast<ptrdiff_t>(from);
    const size_t count = std::min(keys_max, positions.size() - from);
    pieces.emplace_back(begin, begin + static_cast<ptrdiff_t>(count));
  }
  return pieces;
}

// By the low bits of the key's hash, which its shard does not depend on.
std::vector<std::vector<uint32_t>> ByHash(std::span<const Key> keys,
                                          const std::vector<uint32_t>& positions, size_t count) {
  std::vector<std::vector<uint32_t>> pieces(count);
  for (const uint32_t at : positions) pieces[Mix64(keys[at]) & (count - 1)].push_back(at);
  std::erase_if(pieces, [](const auto& piece) { return piece.empty(); });
  return pieces;
}

}  // namespace

std::vector<std::vector<uint32_t>> SplitByLane(std::span<const Key> keys, const wire::ShardMap& map,
                                               KeyShare share, WorkPool* threads) {
  if (map.lanes.size() == 1 && share.count == 1) {  // no key needs hashing
    std::vector<uint32_t> all(keys.size());
    std::iota(all.begin(), all.end(), 0U);
    return {std::move(all)};
  }
  // By run of keys and lane: how many, then where the run's next one goes.
  const size_t runs = (keys.size() + kRunKeys - 1) / kRunKeys;
  constexpr uint16_t kOtherShare = UINT16_MAX;
  std::vector<uint16_t> lane_of(keys.size());
  std::vector<uint32_t> next(runs * map.lanes.size());
  RunPieces(threads, keys.size(), kRunKeys, [&](size_t begin, size_t end) {
    uint32_t* const counts = next.data() + begin / kRunKeys * map.lanes.size();
    for (size_t at = begin; at < end; ++at) {
      const uint64_t hash = Mix64(keys[at]);
      lane_of[at] = share.Has(hash) ? map.LaneOfHash(hash) : kOtherShare;
      if (lane_of[at] != kOtherShare) ++counts[lane_of[at]];
    }
  });
  std::vector<std::vector<uint32_t>> lanes(map.lanes.size());
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    uint32_t count = 0;
    for (size_t run = 0; run < runs; ++run) {
      count += std::exchange(next[run * lanes.size() + lane], count);
    }
    lanes[lane].resize(count);
  }
  RunPieces(threads, keys.size(), kRunKeys, [&](size_t begin, size_t end) {
    uint32_t* const places = next.data() + begin / kRunKeys * lanes.size();
    for (size_t at = begin; at < end; ++at) {
      if (lane_of[at] == kOtherShare) continue;
      lanes[lane_of[at]][places[lane_of[at]]++] = static_cast<uint32_t>(at);
    }
  });
  return lanes;
}

std::vector<std::vector<uint32_t>> SplitInOrder(std::span<const Key> keys,
                                                const wire::ShardMap& map, KeyShare share) {
  static_assert(kShardsOfQuarter == wire::kShards);
  const auto begin_of = [&](uint32_t group) {
    return std::ranges::partition_point(keys, [&](Key key) { return KeyGroup(key) < group; }) -
           keys.begin();
  };
  std::vector<std::vector<uint32_t>> lanes(map.lanes.size());
  for (uint32_t quarter = share.first_quarter(); quarter < share.end_quarter(); ++quarter) {
    const uint32_t group = quarter * wire::kShards;
    auto at = static_cast<uint32_t>(begin_of(group));
    for (uint32_t shard = 0; shard < wire::kShards;) {
      const uint16_t owner = map.owner[shard];
      while (shard < wire::kShards && map.owner[shard] == owner) ++shard;
      const auto end = static_cast<uint32_t>(begin_of(group + shard));
      std::vector<uint32_t>& lane = lanes[owner];
      const size_t before = lane.size();
      lane.resize(before + end - at);
      std::iota(lane.begin() + static_cast<ptrdiff_t>(before), lane.end(), at);
      at = end;
    }
  }
  return lanes;
}

Frame CopyRows(std::span<const uint32_t> positions, std::span<const std::byte> all,
               size_t row_bytes, const std::shared_ptr<const void>& owner, WorkPool* threads) {
  const size_t bytes = positions.size() * row_bytes;
  if (owner != nullptr && SideBySide(positions)) {
    return {owner, all.subspan(positions.front() * row_bytes, bytes)};
  }
  std::shared_ptr<std::byte[]> block = TakeBlock(bytes);
  std::byte* const to = block.get();
  ForEachRun(positions, threads, [&](size_t i, size_t at, size_t count) {
    std::memcpy(to + i * row_bytes, all.data() + at * row_bytes, count * row_bytes);
  });
  return {std::move(block), std::span<const std::byte>(to, bytes)};
}

void PlaceRows(std::span<const uint32_t> positions, std::span<const std::byte> rows,
               size_t row_bytes, std::byte* all, WorkPool* threads) {
  ForEachRun(positions, threads, [&](size_t i, size_t at, size_t count) {
    std::memcpy(all + at * row_bytes, rows.data() + i * row_bytes, count * row_bytes);
  });
}

Result<std::vector<std::vector<uint32_t>>> SplitBySize(std::span<const Key> keys,
                                                       std::vector<uint32_t> positions,
                                                       size_t keys_max, size_t keys_hard_max,
                                                       bool together) {
  if (positions.size() <= keys_max) return std::vector<std::vector<uint32_t>>{std::move(positions)};
  if (!together) return InRuns(positions, keys_max);
  constexpr size_t kPiecesMax = size_t{1} << 16;
  for (size_t count = std::bit_ceil(positions.size() / keys_max + 1); count <= kPiecesMax;
       count *= 2) {
    auto pieces = ByHash(keys, positions, count);
    const auto longest =
        std::max_element(pieces.begin(), pieces.end(),
                         [](const auto& a, const auto& b) { return a.size() < b.size(); });
    if (longest->size() <= keys_hard_max) return pieces;
  }
  return Refused(
      fmt::format("a batch repeats one key more often than the {} rows that fit a message; sum the "
                  "repeats first",
                  keys_hard_max));
}

}  // namespace strata::client
