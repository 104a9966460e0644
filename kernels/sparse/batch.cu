#include <cuda_runtime.h>
#include <thrust/iterator/counting_iterator.h>

#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include "kernels/hashmap/row_device.cuh"
#include "kernels/sparse/batch.h"
#include "kernels/sparse/scratch.h"

namespace strata {
namespace {

static_assert(TableGroup::kBlockKeys == kMapThreads);

// Keys without a row: each takes an entry of this table of positions, equal ones the same.
struct Claims {
  static constexpr uint32_t kFree = ~0U;
  uint32_t* positions;
  uint32_t mask;

  // At most half of the entries are ever taken.
  static size_t EntriesFor(size_t keys) { return std::bit_ceil(2 * keys); }

  __device__ uint32_t Of(const GroupTable& table, const uint64_t* keys, uint64_t i) const {
    const auto self = static_cast<uint32_t>(i);
    const uint64_t key = keys[i];
    for (auto at = static_cast<uint32_t>(Mix64(key + table.first_id)) & mask;;
         at = (at + 1) & mask) {
      const uint32_t there = atomicCAS(positions + at, kFree, self);
      if (there == kFree) return at;
      if (there - table.first_key < table.keys && keys[there] == key) return at;
    }
  }
};

// Slots of a table without gaps, as their numbers need fewer bits then.
__device__ uint64_t NumberOf(uint64_t place) { return place - place / kLineBytes; }
__device__ uint64_t PlaceOf(uint64_t number) { return number + number / kBucketSlots; }

// The warp writes each lane's row.
template <bool kNarrow>
__device__ void GiveRows(const GroupTable& table, bool is_one, uint64_t place, uint64_t key,
                         float* row) {
  const uint32_t dim = table.map.dim;
  CopyValues<kNarrow>(table.map, place == kNowhere ? nullptr : table.map.RowOf(place), row);
  uint32_t missing = __ballot_sync(~0U, is_one && place == kNowhere);
  while (missing != 0) {
    const int owner = __ffs(static_cast<int>(missing)) - 1;
    missing &= missing - 1;
    const uint64_t of_row = __shfl_sync(~0U, key, owner);
    auto* to = reinterpret_cast<float*>(__shfl_sync(~0U, reinterpret_cast<uint64_t>(row), owner));
    for (uint32_t e = Lane(); e < dim; e += 32) {
      to[e] = InitialValueElement<kNarrow>(table.map, table.start, of_row, e);
    }
  }
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

template <typename Id, bool kNarrow>
__global__ void Identify(const __grid_constant__ TableGroup group, const uint64_t* keys, float* out,
                         Claims claims, Id* ids, uint32_t* positions) {
  const Turn turn(group);
  const uint64_t key = turn.is_one ? keys[turn.i] : 0;
  const uint64_t place = turn.is_one ? FindPlace(turn.table.map, key) : kNowhere;
  if (turn.is_one) {
    const uint64_t id = place != kNowhere ? turn.table.first_id + NumberOf(place)
                                          : group.ids + claims.Of(turn.table, keys, turn.i);
    ids[turn.i] = static_cast<Id>(id);
    positions[turn.i] = static_cast<uint32_t>(turn.i);
  }
  if (out != nullptr) GiveRows<kNarrow>(turn.table, turn.is_one, place, key, turn.RowIn(out));
}

template <typename Id>
struct IsFirst {
  const Id* sorted;
  __device__ bool operator()(uint32_t i) const { return i == 0 || sorted[i] != sorted[i - 1]; }
};

template <typename Id>
__global__ void Name(const __grid_constant__ TableGroup group, const uint64_t* keys,
                     const Id* sorted, DistinctKeys out) {
  const uint64_t j = ThreadNumber();
  const uint32_t distinct = *out.count;
  if (j - Lane() >= distinct) return;
  uint32_t begin = 0;
  uint32_t end = 0;
  bool missing = false;
  if (j < distinct) {
    begin = out.starts[j];
    end = j + 1 == distinct ? static_cast<uint32_t>(group.keys) : out.starts[j + 1];
    const uint64_t id = sorted[begin];
    const uint32_t first = out.order[begin];
    out.keys[j] = keys[first];
    out.lasts[j] = out.order[end - 1];
    missing = id >= group.ids;
    out.places[j] = missing ? kNowhere : PlaceOf(id - group.OfKey(first).first_id);
    if (j + 1 == distinct) out.starts[distinct] = end;
  }
  const uint32_t at = PlaceInList(missing, out.missing_count);
  if (missing) out.missing[at] = static_cast<uint32_t>(j);
  const bool most = end - begin > kMostOften;
  const bool often = !most && end - begin > kOften;
  if (__ballot_sync(~0U, most || often) == 0) return;
  const uint32_t front = PlaceInList(most, out.often_counts);
  const uint32_t back = PlaceInList(often, out.often_counts + 1);
  if (most) out.often[front] = static_cast<uint32_t>(j);
  if (often) out.often[group.keys - 1 - back] = static_cast<uint32_t>(j);
}

// What CUB asks for beside our own arrays.
template <typename Id>
size_t CubBytes(size_t keys) {
  size_t sort = 0;
  size_t select = 0;
  (void)cub::DeviceRadixSort::SortPairs(nullptr, sort, static_cast<const Id*>(nullptr),
                                        static_cast<Id*>(nullptr),
                                        static_cast<const uint32_t*>(nullptr),
                                        static_cast<uint32_t*>(nullptr), static_cast<int>(keys));
  (void)cub::DeviceSelect::If(nullptr, select, thrust::counting_iterator<uint32_t>(0),
                              static_cast<uint32_t*>(nullptr), static_cast<uint32_t*>(nullptr),
                              static_cast<int>(keys), IsFirst<Id>{nullptr});
  return ScratchAligned(std::max(sort, select));
}

template <typename Id>
void Combine(const Exec& exec, const TableGroup& group, const uint64_t* keys, float* out,
             const DistinctKeys& distinct, std::span<std::byte> scratch) {
  const auto stream = static_cast<cudaStream_t>(exec.stream);
  const size_t count = group.keys;
  const size_t entries = Claims::EntriesFor(count);
  Scratch left(scratch);
  Id* ids = left.Take<Id>(count);
  Id* sorted = left.Take<Id>(count);
  auto* positions = left.Take<uint32_t>(count);
  auto* claimed = left.Take<uint32_t>(entries);
  const size_t cub_bytes = CubBytes<Id>(count);
  auto* cub_scratch = left.Take<std::byte>(cub_bytes);

  const Claims claims{claimed, static_cast<uint32_t>(entries - 1)};
  (void)cudaMemsetAsync(claimed, 0xff, entries * sizeof(uint32_t), stream);
  WithNarrow(out != nullptr && group.IsNarrow(), [&](auto narrow) {
    Identify<Id, narrow.value>
        <<<group.blocks, kMapThreads, 0, stream>>>(group, keys, out, claims, ids, positions);
  });
  size_t bytes = cub_bytes;
  const int bits = std::bit_width(group.ids + entries - 1);
  (void)cub::DeviceRadixSort::SortPairs(cub_scratch, bytes, static_cast<const Id*>(ids), sorted,
                                        static_cast<const uint32_t*>(positions), distinct.order,
                                        static_cast<int>(count), 0, bits, stream);
  bytes = cub_bytes;
  (void)cub::DeviceSelect::If(cub_scratch, bytes, thrust::counting_iterator<uint32_t>(0),
                              distinct.starts, distinct.count, static_cast<int>(count),
                              IsFirst<Id>{sorted}, stream);
  Name<<<BlocksFor(count), kMapThreads, 0, stream>>>(group, keys, sorted, distinct);
}

}  // namespace

void LookUpBatch(const Exec& exec, const TableGroup& group, const uint64_t* keys, float* out,
                 unsigned long long* hits) {
  if (group.keys == 0) return;
  const auto stream = static_cast<cudaStream_t>(exec.stream);
  WithNarrow(group.IsNarrow(), [&](auto narrow) {
    LookUp<narrow.value><<<group.blocks, kMapThreads, 0, stream>>>(group, keys, out, hits);
  });
}

size_t CombineScratchBytes(size_t keys) {
  return 2 * ScratchAligned(keys * sizeof(uint64_t)) + ScratchAligned(keys * sizeof(uint32_t)) +
         ScratchAligned(Claims::EntriesFor(keys) * sizeof(uint32_t)) + CubBytes<uint64_t>(keys);
}

void CombineBatch(const Exec& exec, const TableGroup& group, const uint64_t* keys, float* out,
                  const DistinctKeys& distinct, std::span<std::byte> scratch) {
  const auto stream = static_cast<cudaStream_t>(exec.stream);
  (void)cudaMemsetAsync(distinct.count, 0, sizeof *distinct.count, stream);
  (void)cudaMemsetAsync(distinct.missing_count, 0, sizeof *distinct.missing_count, stream);
  (void)cudaMemsetAsync(distinct.often_counts, 0, 2 * sizeof *distinct.often_counts, stream);
  if (group.keys == 0) return;
  if (group.ids + Claims::EntriesFor(group.keys) <= UINT32_MAX) {
    Combine<uint32_t>(exec, group, keys, out, distinct, scratch);
  } else {
    Combine<uint64_t>(exec, group, keys, out, distinct, scratch);
  }
}

}  // namespace strata
