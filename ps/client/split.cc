#include "ps/client/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace strata::client {
namespace {

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

std::vector<std::vector<uint32_t>> SplitByLane(std::span<const Key> keys,
                                               const wire::ShardMap& map) {
  if (map.lanes.size() == 1) {  // no key needs hashing
    std::vector<uint32_t> all(keys.size());
    std::iota(all.begin(), all.end(), 0U);
    return {std::move(all)};
  }
  std::vector<uint32_t> counts(map.lanes.size());
  for (const Key key : keys) ++counts[map.LaneOf(key)];
  std::vector<std::vector<uint32_t>> lanes(map.lanes.size());
  for (size_t lane = 0; lane < lanes.size(); ++lane) lanes[lane].reserve(counts[lane]);
  for (size_t at = 0; at < keys.size(); ++at) {
    lanes[map.LaneOf(keys[at])].push_back(static_cast<uint32_t>(at));
  }
  return lanes;
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
