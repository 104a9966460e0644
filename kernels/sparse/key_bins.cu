#include <algorithm>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/sparse/key_bins.cuh"
#include "strata/gpu/bitonic_sort.cuh"

namespace strata {
namespace {

constexpr uint32_t kCombineThreads = 256;

// What a block knows of a bin's keys, in shared memory: of each key, and of the first one that
// took a slot, which stands for all that are the same.
template <uint32_t kMostKeys, uint32_t kSlotsOf>
struct BinRoom {
  static constexpr uint32_t kMost = kMostKeys;
  static constexpr uint32_t kSlots = kSlotsOf;
  static_assert(kMost <= kSlots);

  uint32_t slots[kSlots];  // then the first of each, then all by key, then their positions
  uint32_t counts[kMost];
  uint16_t same[kMost];   // which stands for it
  uint16_t ranks[kMost];  // among those that are the same
  uint16_t starts[kMost];
  uint16_t numbers[kMost];
};
// Most bins; their keys are brought here.
struct NearRoom {
  DealtKey keys[1280];
  BinRoom<1280, 2048> room;
};
// Larger ones: their keys stay where they are.
using FarRoom = BinRoom<2304, 4096>;
union CombineRoom {
  NearRoom near;
  FarRoom far;
};

// Of a block.
struct CombineShared {
  uint32_t of_warps[kCombineThreads / 32];
  uint32_t block;
  uint32_t before;
  bool has_often;
};

// What a bin's distinct keys become.
struct Distinct {
  const DistinctKeys& out;
  uint32_t all_keys;  // of the batch

  __device__ void Write(uint32_t number, uint64_t key, uint32_t start, uint32_t count) const {
    out.keys[number] = key;
    out.starts[number] = start;
    if (count > kMostOften) {
      out.often[atomicAdd(out.often_counts, 1U)] = number;
    } else if (count > kOften) {
      out.often[all_keys - 1 - atomicAdd(out.often_counts + 1, 1U)] = number;
    }
  }
};

// The ranks of keys that come often: a warp goes over the bin for one of them at a time.
template <typename Room>
__device__ void RankOften(Room* room, uint32_t count) {
  const uint32_t warp = threadIdx.x / 32;
  uint32_t turn = 0;
  for (uint32_t first = 0; first < count; first += 32) {
    const uint32_t i = first + Lane();
    const bool is_one = i < count && room->same[i] == i && room->counts[i] > kOften;
    for (uint32_t ones = __ballot_sync(~0U, is_one); ones != 0; ones &= ones - 1) {
      if (turn++ % (kCombineThreads / 32) != warp) continue;
      const uint32_t one = first + static_cast<uint32_t>(__ffs(static_cast<int>(ones)) - 1);
      uint32_t before = 0;
      for (uint32_t at = 0; at < count; at += 32) {
        const uint32_t k = at + Lane();
        const bool is_same = k < count && room->same[k] == one;
        const uint32_t lanes = __ballot_sync(~0U, is_same);
        if (is_same) {
          const auto below = static_cast<uint32_t>(__popc(lanes & ((1U << Lane()) - 1)));
          room->ranks[k] = static_cast<uint16_t>(before + below);
        }
        before += static_cast<uint32_t>(__popc(lanes));
      }
    }
  }
}

// Combines a bin's keys, which stand from `begin` on in the order of all. They are in the order of
// the batch, and so are those of each key in the end.
template <typename Room>
__device__ void CombineBin(const DealtKey* keys, uint32_t begin, uint32_t count, Room* room,
                           const TileSums& numbers, const Distinct& distinct,
                           CombineShared* shared) {
  constexpr uint32_t kFree = ~0U;
  const uint32_t warp = threadIdx.x / 32;
  const auto for_each = [&](const auto& run) {
    for (uint32_t i = threadIdx.x; i < count; i += kCombineThreads) run(i);
  };
  for (uint32_t i = threadIdx.x; i < Room::kSlots; i += kCombineThreads) room->slots[i] = kFree;
  for_each([&](uint32_t i) { room->counts[i] = 0; });
  if (threadIdx.x == 0) shared->has_often = false;
  __syncthreads();
  for_each([&](uint32_t i) {
    const uint64_t key = keys[i].key;
    uint32_t same = 0;
    for (uint32_t at = keys[i].hash % Room::kSlots;; at = (at + 1) % Room::kSlots) {
      uint32_t there = room->slots[at];
      if (there == kFree) there = atomicCAS(room->slots + at, kFree, i);
      same = there == kFree ? i : there;
      if (same == i || keys[same].key == key) break;
    }
    room->same[i] = static_cast<uint16_t>(same);
    room->ranks[i] = static_cast<uint16_t>(atomicAdd(room->counts + same, 1U));  // in any order
  });
  __syncthreads();
  uint32_t* const firsts = room->slots;
  for_each([&](uint32_t i) { firsts[i] = room->counts[i] == 1 ? i : kFree; });
  __syncthreads();
  for_each([&](uint32_t i) {
    const uint32_t same = room->same[i];
    if (room->counts[same] > 1) atomicMin(firsts + same, i);
  });
  __syncthreads();

  // Keys are numbered by their firsts: a thread has some in a row. Numbers in the lower half, how
  // many keys of the bin in the upper one.
  const uint32_t each = (count + kCombineThreads - 1) / kCombineThreads;
  const uint32_t first = min(threadIdx.x * each, count);
  const uint32_t end = min(first + each, count);
  uint32_t own = 0;
  for (uint32_t i = first; i < end; ++i) {
    const uint32_t same = room->same[i];
    if (firsts[same] == i) own += room->counts[same] << 16 | 1;
  }
  const uint32_t up_to = ShufflePrefixSum(own);
  if (Lane() == 31) shared->of_warps[warp] = up_to;
  __syncthreads();
  uint32_t before = up_to - own;
  uint32_t all = 0;
  for (uint32_t w = 0; w < kCombineThreads / 32; ++w) {
    if (w < warp) before += shared->of_warps[w];
    all += shared->of_warps[w];
  }
  const uint32_t distinct_count = all & 0xFFFF;
  if (threadIdx.x == 0) numbers.Tell(shared->block, distinct_count);
  for (uint32_t i = first; i < end; ++i) {
    const uint32_t same = room->same[i];
    if (firsts[same] != i) continue;
    const uint32_t times = room->counts[same];
    room->numbers[same] = static_cast<uint16_t>(before);
    room->starts[same] = static_cast<uint16_t>(before >> 16);
    before += times << 16 | 1;
    if (times > kOften) shared->has_often = true;
  }
  __syncthreads();

  uint32_t* const by_key = room->slots;
  for_each([&](uint32_t i) {
    const uint32_t same = room->same[i];
    if (room->counts[same] > 1) by_key[room->starts[same] + room->ranks[i]] = i;
  });
  __syncthreads();
  for_each([&](uint32_t i) {
    const uint32_t same = room->same[i];
    const uint32_t times = room->counts[same];
    if (times == 1 || times > kOften) return;
    const uint32_t start = room->starts[same];
    uint32_t rank = 0;
    for (uint32_t k = start; k < start + times; ++k) rank += by_key[k] < i ? 1 : 0;
    room->ranks[i] = static_cast<uint16_t>(rank);
  });
  if (shared->has_often) RankOften(room, count);
  __syncthreads();
  uint32_t* const positions = room->slots;
  for_each([&](uint32_t i) {
    positions[room->starts[room->same[i]] + room->ranks[i]] = keys[i].position;
  });
  if (warp == 0) {
    const uint32_t before_all = numbers.Before(shared->block, distinct_count);
    if (Lane() == 0) shared->before = before_all;
  }
  __syncthreads();
  for_each([&](uint32_t i) {
    distinct.out.order[begin + i] = positions[i];
    const uint32_t same = room->same[i];
    const uint32_t times = room->counts[same];
    const uint32_t number = shared->before + room->numbers[same];
    if (room->ranks[i] + 1U == times) distinct.out.lasts[number] = keys[i].position;
    if (same == i) distinct.Write(number, keys[i].key, begin + room->starts[i], times);
  });
}

// A bin that no shared memory holds, which hashes hardly ever make: sorted where it is.
__device__ void CombineSorted(DealtKey* keys, uint32_t begin, uint32_t count,
                              const TileSums& numbers, const Distinct& distinct,
                              CombineShared* shared) {
  size_t padded = 1;
  while (padded < count) padded *= 2;
  for (size_t sorted = 2; sorted <= padded; sorted *= 2) {
    for (size_t width = sorted; width > 1; width /= 2) {
      for (size_t number = threadIdx.x; number < padded / 2; number += kCombineThreads) {
        const BitonicPair pair(number, width, width == sorted);
        if (pair.high >= count) continue;
        const DealtKey low = keys[pair.low];
        const DealtKey high = keys[pair.high];
        if (low.key < high.key || (low.key == high.key && low.position < high.position)) continue;
        keys[pair.low] = high;
        keys[pair.high] = low;
      }
      __syncthreads();
    }
  }
  const auto is_at = [&](uint32_t i, uint64_t key) { return i < count && keys[i].key == key; };
  const auto is_first = [&](uint32_t i) {
    return i < count && (i == 0 || keys[i - 1].key != keys[i].key);
  };
  uint32_t all = 0;
  for (uint32_t at = 0; at < count; at += kCombineThreads) {
    all += static_cast<uint32_t>(__syncthreads_count(is_first(at + threadIdx.x) ? 1 : 0));
  }
  const uint32_t warp = threadIdx.x / 32;
  if (warp == 0) {
    const uint32_t before_all = numbers.Before(shared->block, all);
    if (Lane() == 0) shared->before = before_all;
  }
  __syncthreads();
  uint32_t before = shared->before;
  for (uint32_t at = 0; at < count; at += kCombineThreads) {
    const uint32_t i = at + threadIdx.x;
    const uint32_t firsts = __ballot_sync(~0U, is_first(i));
    if (Lane() == 0) shared->of_warps[warp] = static_cast<uint32_t>(__popc(firsts));
    __syncthreads();
    uint32_t number = before + static_cast<uint32_t>(__popc(firsts & (~0U >> (31 - Lane())))) - 1;
    for (uint32_t w = 0; w < kCombineThreads / 32; ++w) {
      if (w < warp) number += shared->of_warps[w];
      before += shared->of_warps[w];
    }
    __syncthreads();
    if (i >= count) continue;
    const uint64_t key = keys[i].key;
    distinct.out.order[begin + i] = keys[i].position;
    if (!is_at(i + 1, key)) distinct.out.lasts[number] = keys[i].position;
    if (!is_first(i)) continue;
    const bool is_often = is_at(i + kOften, key);
    const bool is_most = is_often && is_at(i + kMostOften, key);
    distinct.Write(number, key, begin + i, is_most ? kMostOften + 1 : is_often ? kOften + 1 : 1);
  }
}

// A table's keys that have a bin each.
__device__ void NumberOwn(const BinPlan::Table& table, uint32_t count, const KeyBins& bins,
                          const Distinct& distinct, CombineShared* shared) {
  if (threadIdx.x < 32) {
    const uint32_t before = bins.numbers.Before(shared->block, count);
    if (Lane() == 0) shared->before = before;
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < count; i += kCombineThreads) {
    const uint32_t bin = table.first_bin + table.by_hash + i;
    const uint32_t begin = bins.starts[bin];
    const uint32_t end = bins.starts[bin + 1];
    distinct.out.lasts[shared->before + i] = distinct.out.order[end - 1];
    distinct.Write(shared->before + i, bins.own_keys[bin], begin, end - begin);
  }
}

// A block of threads a bin by hash, and one for a table's other ones.
__global__ void __launch_bounds__(kCombineThreads)
    CombineBins(const __grid_constant__ BinPlan plan, KeyBins bins, DistinctKeys out) {
  extern __shared__ uint4 memory[];
  __shared__ CombineShared shared;
  CombineRoom& room = *reinterpret_cast<CombineRoom*>(memory);
  if (threadIdx.x == 0) shared.block = bins.numbers.Take();
  __syncthreads();
  uint32_t t = 0;
  while (t + 1 < plan.count && plan.tables[t + 1].first_block <= shared.block) ++t;
  const BinPlan::Table& table = plan.tables[t];
  const Distinct distinct{out, plan.keys};
  const uint32_t of_table = shared.block - table.first_block;
  if (of_table == table.by_hash) {
    const uint32_t count = min(bins.own_counts[t], table.own);
    NumberOwn(table, count, bins, distinct, &shared);
    if (shared.block + 1 == plan.blocks && threadIdx.x == 0) {
      out.starts[shared.before + count] = plan.keys;
      *out.count = shared.before + count;
    }
    return;
  }
  const uint32_t bin = table.first_bin + of_table;
  const uint32_t begin = bins.starts[bin];
  const uint32_t count = bins.starts[bin + 1] - begin;
  DealtKey* const keys = bins.dealt + begin;
  if (count <= room.near.room.kMost) {
    for (uint32_t i = threadIdx.x; i < count; i += kCombineThreads) {
      reinterpret_cast<uint4*>(room.near.keys)[i] = reinterpret_cast<const uint4*>(keys)[i];
    }
    CombineBin(room.near.keys, begin, count, &room.near.room, bins.numbers, distinct, &shared);
  } else if (count <= room.far.kMost) {
    CombineBin(keys, begin, count, &room.far, bins.numbers, distinct, &shared);
  } else {
    CombineSorted(keys, begin, count, bins.numbers, distinct, &shared);
  }
}

// A thread a key.
__global__ void __launch_bounds__(kMapThreads, 8)
    Find(const __grid_constant__ TableGroup group, DistinctKeys distinct) {
  const auto j = static_cast<uint32_t>(ThreadNumber());
  const uint32_t count = *distinct.count;
  if (j / 32 * 32 >= count) return;  // no lane of the warp has one
  uint64_t place = 0;
  if (j < count) {
    const GroupTable& table =
        group.count == 1 ? group.tables[0] : group.OfKey(distinct.order[distinct.starts[j]]);
    place = FindPlace(table.map, distinct.keys[j]);
    distinct.places[j] = place;
  }
  const bool is_missing = place == kNowhere;
  const uint32_t at = PlaceInList(is_missing, distinct.missing_count);
  if (is_missing) distinct.missing[at] = j;
}

}  // namespace

BinPlan::BinPlan(const TableGroup& group)
    : count(group.count),
      keys(static_cast<uint32_t>(group.keys)),
      tiles(Parts(group.keys, kTileKeys)) {
  for (uint32_t t = 0; t < count; ++t) {
    const auto of_table = static_cast<uint32_t>(group.tables[t].keys);
    Table& table = tables[t];
    table = {.first_key = static_cast<uint32_t>(group.tables[t].first_key),
             .first_bin = bins,
             .by_hash = std::max(Parts(of_table, kBinKeys), 1U),
             .own = kOwnLeast + static_cast<uint32_t>(uint64_t{kOwn} * of_table / keys),
             .first_block = blocks,
             .home_seed = group.tables[t].map.home_seed};
    bins += table.by_hash + table.own;
    blocks += table.by_hash + 1;
  }
  bins += bins % 2;
}

bool BinPlan::Fits(const Exec& exec) const {
  if (bins > kBinsMax) return false;
  int most = 0;
  (void)cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, exec.ordinal);
  return static_cast<size_t>(most) >= kDealSharedMost;
}

size_t BinScratchBytes(size_t keys) {
  const uint32_t blocks = Parts(keys, BinPlan::kBinKeys) + 2 * kGroupTablesMax;
  const uint32_t bins =
      std::min(blocks + BinPlan::kOwn + BinPlan::kOwnLeast * kGroupTablesMax, BinPlan::kBinsMax);
  const size_t tiled = size_t{Parts(keys, BinPlan::kTileKeys)} * bins;
  return ScratchAligned(KeyBins::ZeroBytes(bins, blocks)) +
         ScratchAligned(kOwnSlots * sizeof(uint64_t)) + ScratchAligned(bins * sizeof(uint64_t)) +
         ScratchAligned(tiled * sizeof(uint16_t)) + ScratchAligned(tiled * sizeof(uint32_t)) +
         ScratchAligned((bins + 1) * sizeof(uint32_t)) + ScratchAligned(keys * sizeof(DealtKey));
}

void CombineByBins(const Exec& exec, const BinPlan& plan, const uint64_t* keys,
                   const DistinctKeys& distinct, std::span<std::byte> scratch) {
  const auto stream = StreamOf(exec);
  Scratch left(scratch);
  const size_t zero_bytes = KeyBins::ZeroBytes(plan.bins, plan.blocks);
  auto* const zeros = left.Take<std::byte>(zero_bytes);
  const KeyBins bins(plan, {zeros, zero_bytes}, &left);
  (void)cudaMemsetAsync(zeros, 0, zero_bytes, stream);
  DealKeys(plan, keys, bins, distinct, stream);
  (void)cudaFuncSetAttribute(CombineBins, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(sizeof(CombineRoom)));
  CombineBins<<<plan.blocks, kCombineThreads, sizeof(CombineRoom), stream>>>(plan, bins, distinct);
}

void FindDistinct(const Exec& exec, const TableGroup& group, const DistinctKeys& distinct) {
  Find<<<Parts(group.keys, kMapThreads), kMapThreads, 0, StreamOf(exec)>>>(group, distinct);
}

}  // namespace strata
