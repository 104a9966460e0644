#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/hashmap/row_device.cuh"
#include "kernels/sparse/batch.h"
#include "kernels/sparse/claims.cuh"
#include "kernels/sparse/key_bins.h"
#include "kernels/sparse/scratch.h"
#include "kernels/sparse/sort_pairs.cuh"
#include "kernels/sparse/tile_sums.cuh"

namespace strata {
namespace {

static_assert(TableGroup::kBlockKeys == kMapThreads);

// Keys without a row are numbered by home: those of a table come to the tier below by and
// large in the order of its index.
__device__ uint32_t Claim(const Claims& claims, const GroupTable& table, const uint64_t* keys,
                          uint64_t i) {
  const uint64_t key = keys[i];
  const uint64_t order = table.map.HomeOf(key) + Mix64(table.first_id);  // tables apart
  return claims.Of(order, static_cast<uint32_t>(i), [&](uint32_t there) {
    return there - table.first_key < table.keys && keys[there] == key;
  });
}

// Slots of a table without gaps, as their numbers need fewer bits then.
__device__ uint64_t NumberOf(uint64_t place) { return place - place / kLineBytes; }
template <typename Number>
__device__ uint64_t PlaceOf(Number number) {
  return uint64_t{number} + number / kBucketSlots;
}

// The warp writes each lane's row.
template <bool kNarrow>
__device__ void GiveRows(const GroupTable& table, bool is_one, uint64_t place, uint64_t key,
                         float* row) {
  CopyValues<kNarrow>(table.map, place == kNowhere ? nullptr : table.map.RowOf(place), row);
  WriteInitial<kNarrow>(table.map, table.start, is_one && place == kNowhere, key, row);
}

// A thread a key, blocks of one table.
struct Turn {
  const GroupTable& table;
  uint64_t in_table;
  bool is_one;
  uint64_t i;

  explicit __device__ Turn(const TableGroup& group)
      : table(group.OfBlock(blockIdx.x)),
        in_table(uint64_t{blockIdx.x - table.first_block} * kMapThreads + threadIdx.x),
        is_one(in_table < table.keys),
        i(table.first_key + in_table) {}
  __device__ float* RowIn(float* rows) const {
    return rows + table.first_element + in_table * table.map.dim;
  }
};

template <bool kNarrow>
__global__ void __launch_bounds__(kMapThreads, 5)
    LookUp(const __grid_constant__ TableGroup group, const uint64_t* keys, float* out,
           unsigned long long* hits) {
  const Turn turn(group);
  const uint64_t key = turn.is_one ? keys[turn.i] : 0;
  const uint64_t place = turn.is_one ? FindPlace(turn.table.map, key) : kNowhere;
  GiveRows<kNarrow>(turn.table, turn.is_one, place, key, turn.RowIn(out));
  CountLanes(place != kNowhere, hits + (&turn.table - group.tables));
}

// A block's tile of the sorted batch. Its firsts are counted while their keys are on their way.
constexpr uint32_t kTileThreads = 256;
constexpr uint32_t kTileItems = 8;  // of a thread, 32 apart
constexpr uint32_t kTileWarps = kTileThreads / 32;
constexpr uint32_t kTileKeys = kTileThreads * kTileItems;

constexpr uint32_t TilesOf(size_t keys) {
  return static_cast<uint32_t>((keys + kTileKeys - 1) / kTileKeys);
}

// Numbers of all keys. Without rows it waits for nothing but memory: as many warps as there can be.
template <typename Id, bool kRows, bool kNarrow>
__global__ void __launch_bounds__(kMapThreads, kRows ? 4 : 8)
    Identify(const __grid_constant__ TableGroup group, const uint64_t* keys, float* out,
             Claims claims, Id* ids, uint32_t* positions, DistinctKeys distinct, TileSums tiles) {
  // What `Name` counts on from.
  const uint64_t thread = ThreadNumber();
  if (thread < TileSums::WordsFor(TilesOf(group.keys))) tiles.words[thread] = 0;
  if (thread == 0) {
    *distinct.missing_count = 0;
    distinct.often_counts[0] = distinct.often_counts[1] = 0;
  }
  const Turn turn(group);
  const uint64_t key = turn.is_one ? keys[turn.i] : 0;
  const uint64_t place = turn.is_one ? FindPlace(turn.table.map, key) : kNowhere;
  if (turn.is_one) {
    const uint64_t id = place != kNowhere ? turn.table.first_id + NumberOf(place)
                                          : group.ids + Claim(claims, turn.table, keys, turn.i);
    ids[turn.i] = static_cast<Id>(id);
    positions[turn.i] = static_cast<uint32_t>(turn.i);
  }
  if constexpr (kRows) {
    GiveRows<kNarrow>(turn.table, turn.is_one, place, key, turn.RowIn(out));
  }
}

// Appends the lane's items whose bit is set to a list of *count, which grows by those of the whole
// warp at once: write(place, item).
template <typename Write>
__device__ void Append(uint32_t bits, uint32_t* count, const Write& write) {
  uint32_t all = 0;
#pragma unroll
  for (uint32_t item = 0; item < kTileItems; ++item) {
    all += static_cast<uint32_t>(__popc(__ballot_sync(~0U, bits >> item & 1)));
  }
  if (all == 0) return;
  uint32_t place = Lane() == 0 ? atomicAdd(count, all) : 0;
  place = __shfl_sync(~0U, place, 0);
#pragma unroll
  for (uint32_t item = 0; item < kTileItems; ++item) {
    const uint32_t listed = __ballot_sync(~0U, bits >> item & 1);
    const uint32_t before = listed & ((1U << Lane()) - 1);
    if ((bits >> item & 1) != 0) write(place + static_cast<uint32_t>(__popc(before)), item);
    place += static_cast<uint32_t>(__popc(listed));
  }
}

// The distinct keys of the sorted batch, in one pass: a position is a key's first where the one
// before it has another number. How long a run is shows at its first, by the numbers further on.
template <typename Id>
__global__ void __launch_bounds__(kTileThreads, 4)
    Name(const __grid_constant__ TableGroup group, const uint64_t* keys, const Id* sorted,
         const uint32_t* order, DistinctKeys out, TileSums tiles) {
  __shared__ TileSums::OfBlock<kTileWarps> shared;
  const uint32_t tile = tiles.TakeByBlock(&shared);
  const uint32_t warp = threadIdx.x / 32;
  const auto count = static_cast<uint32_t>(group.keys);
  const uint32_t begin = tile * kTileKeys + warp * 32 * kTileItems + Lane();

  // By item. What lies at a first: its number, key and position; at a last: its position.
  Id ids[kTileItems];
  uint64_t first_keys[kTileItems];
  uint32_t positions[kTileItems];
  uint32_t firsts = 0;  // bits
  uint32_t lasts = 0;
  uint32_t often = 0;
  uint32_t most = 0;
  uint32_t firsts_of_warp = 0;
#pragma unroll
  for (uint32_t item = 0; item < kTileItems; ++item) {
    const uint32_t i = begin + item * 32;
    const bool is_one = i < count;
    const Id id = is_one ? sorted[i] : 0;
    const auto is_id = [&](uint32_t at) { return at < count && sorted[at] == id; };
    const bool is_first = is_one && (i == 0 || !is_id(i - 1));
    const bool is_last = is_one && !is_id(i + 1);
    const bool is_often = is_first && !is_last && is_id(i + kOften);
    const bool is_most = is_often && is_id(i + kMostOften);
    firsts |= uint32_t{is_first} << item;
    lasts |= uint32_t{is_last} << item;
    often |= uint32_t{is_often && !is_most} << item;
    most |= uint32_t{is_most} << item;
    ids[item] = id;
    positions[item] = is_one ? order[i] : 0;
    if (is_one && order != out.order) out.order[i] = positions[item];
    firsts_of_warp += static_cast<uint32_t>(__popc(__ballot_sync(~0U, is_first)));
  }
#pragma unroll
  for (uint32_t item = 0; item < kTileItems; ++item) {
    first_keys[item] = (firsts >> item & 1) != 0 ? keys[positions[item]] : 0;
  }

  uint32_t before = tiles.BeforeWarp(tile, firsts_of_warp, &shared);

  uint32_t names[kTileItems];  // the key's index, at firsts and lasts
  uint32_t missing = 0;
#pragma unroll
  for (uint32_t item = 0; item < kTileItems; ++item) {
    const uint32_t i = begin + item * 32;
    const bool is_first = (firsts >> item & 1) != 0;
    const uint32_t of_item = __ballot_sync(~0U, is_first);
    const uint32_t up_to = of_item & (~0U >> (31 - Lane()));
    const uint32_t j = before + static_cast<uint32_t>(__popc(up_to)) - 1;
    before += static_cast<uint32_t>(__popc(of_item));
    names[item] = j;
    if (is_first) {
      const bool is_missing = ids[item] >= group.ids;
      missing |= uint32_t{is_missing} << item;
      out.starts[j] = i;
      out.keys[j] = first_keys[item];
      out.places[j] =
          is_missing ? kNowhere
                     : PlaceOf(static_cast<Id>(ids[item] - group.OfKey(positions[item]).first_id));
    }
    if ((lasts >> item & 1) != 0) out.lasts[j] = positions[item];
    if (i + 1 == count) {
      out.starts[j + 1] = count;
      *out.count = j + 1;
    }
  }
  Append(missing, out.missing_count,
         [&](uint32_t at, uint32_t item) { out.missing[at] = names[item]; });
  Append(most, out.often_counts, [&](uint32_t at, uint32_t item) { out.often[at] = names[item]; });
  Append(often, out.often_counts + 1,
         [&](uint32_t at, uint32_t item) { out.often[count - 1 - at] = names[item]; });
}

template <typename Id>
void Combine(const Exec& exec, const TableGroup& group, const uint64_t* keys, float* out,
             const DistinctKeys& distinct, std::span<std::byte> scratch) {
  const auto stream = StreamOf(exec);
  const size_t count = group.keys;
  const size_t entries = Claims::EntriesFor(count);
  const uint32_t tiles = TilesOf(count);
  Scratch left(scratch);
  const int bits = std::bit_width(group.ids + entries - 1);
  Id* ids = left.Take<Id>(count);
  Id* other_ids = left.Take<Id>(count);
  uint32_t* positions = left.Take<uint32_t>(count);
  uint32_t* other_positions = distinct.order;
  if (EndsWhereItBegins<Id>(bits)) std::swap(positions, other_positions);
  SortedPairs<Id> pairs{{ids, other_ids}, {positions, other_positions}};
  auto* claimed = left.Take<uint32_t>(entries);
  const TileSums sums{left.Take<unsigned long long>(TileSums::WordsFor(tiles))};

  const Claims claims = Claims::In(claimed, entries);
  (void)cudaMemsetAsync(claimed, 0xff, entries * sizeof(uint32_t), stream);
  const auto identify = [&](auto rows, auto narrow) {
    Identify<Id, rows.value, narrow.value><<<group.blocks, kMapThreads, 0, stream>>>(
        group, keys, out, claims, ids, positions, distinct, sums);
  };
  if (out == nullptr) {
    identify(std::false_type(), std::false_type());
  } else {
    WithNarrow(group.IsNarrow(), [&](auto narrow) { identify(std::true_type(), narrow); });
  }
  SortPairs(&pairs, count, bits, &left, stream);
  Name<<<tiles, kTileThreads, 0, stream>>>(group, keys, pairs.keys.Current(),
                                           pairs.values.Current(), distinct, sums);
}

size_t SortedScratchBytes(size_t keys) {
  return 2 * ScratchAligned(keys * sizeof(uint64_t)) + ScratchAligned(keys * sizeof(uint32_t)) +
         ScratchAligned(Claims::EntriesFor(keys) * sizeof(uint32_t)) +
         ScratchAligned(TileSums::WordsFor(TilesOf(keys)) * sizeof(unsigned long long)) +
         std::max(SortScratchBytes<uint32_t>(keys), SortScratchBytes<uint64_t>(keys));
}

// Smaller batches leave a GPU's processors without a tile of their own while keys are dealt.
constexpr size_t kBinnedFrom = size_t{1} << 20;

}  // namespace

void LookUpBatch(const Exec& exec, const TableGroup& group, const uint64_t* keys, float* out,
                 unsigned long long* hits) {
  if (group.keys == 0) return;
  const auto stream = StreamOf(exec);
  WithNarrow(group.IsNarrow(), [&](auto narrow) {
    LookUp<narrow.value><<<group.blocks, kMapThreads, 0, stream>>>(group, keys, out, hits);
  });
}

size_t CombineScratchBytes(size_t keys) {
  const size_t sorted = SortedScratchBytes(keys);
  return keys < kBinnedFrom ? sorted : std::max(sorted, BinScratchBytes(keys));
}

void CombineBatch(const Exec& exec, const TableGroup& group, const uint64_t* keys, float* out,
                  const DistinctKeys& distinct, std::span<std::byte> scratch) {
  if (group.keys == 0) {
    const auto stream = StreamOf(exec);
    (void)cudaMemsetAsync(distinct.count, 0, sizeof *distinct.count, stream);
    (void)cudaMemsetAsync(distinct.missing_count, 0, sizeof *distinct.missing_count, stream);
    (void)cudaMemsetAsync(distinct.often_counts, 0, 2 * sizeof *distinct.often_counts, stream);
    return;
  }
  // Rows of all positions are given while keys are found, so that all of them are.
  if (out == nullptr && group.keys >= kBinnedFrom) {
    if (const BinPlan plan(group); plan.Fits(exec)) {
      CombineByBins(exec, plan, keys, distinct, scratch);
      FindDistinct(exec, group, distinct);
      return;
    }
  }
  if (group.ids + Claims::EntriesFor(group.keys) <= UINT32_MAX) {
    Combine<uint32_t>(exec, group, keys, out, distinct, scratch);
  } else {
    Combine<uint64_t>(exec, group, keys, out, distinct, scratch);
  }
}

}  // namespace strata
