#include <algorithm>

#include "kernels/sparse/key_bins.cuh"

namespace strata {
namespace {

constexpr uint32_t kSample = 8192;  // keys of a batch
constexpr uint32_t kSampleThreads = 1024;
constexpr uint32_t kSampleBlocks = 8;  // each with the sample's keys of some hashes
constexpr uint32_t kSampleSlots = 4096;
constexpr uint32_t kSampleRoom = kSampleSlots / 2;
// The tables of ascending positions, or bins.
enum class WalkOver : uint8_t { kPositions, kBins };
template <WalkOver over>
class TableWalk {
 public:
  explicit __device__ TableWalk(const BinPlan& plan) : plan_(plan) { Take(); }
  __device__ const BinPlan::Table& Of(uint32_t at) {
    while (at >= end_) {
      ++number_;
      Take();
    }
    return table_;
  }
  __device__ uint32_t number() const { return number_; }

 private:
  __device__ void Take() {
    table_ = plan_.tables[number_];
    end_ = ~0U;
    if (number_ + 1 == plan_.count) return;
    const BinPlan::Table& next = plan_.tables[number_ + 1];
    end_ = over == WalkOver::kPositions ? next.first_key : next.first_bin;
  }

  const BinPlan& plan_;
  uint32_t number_ = 0;
  uint32_t end_ = 0;  // where the next one begins
  BinPlan::Table table_;
};

// Of a key of the sample: the same one of two tables is two.
__device__ uint32_t SampleHash(const BinPlan& plan, uint64_t key, uint32_t table) {
  return static_cast<uint32_t>(plan.tables[table].HomeOf(key)) + table * 0x9e3779b9U;
}

// Which keys come often: those that the sample has twice get a bin of their own, while there are
// some. Readies the counts of `distinct`.
__global__ void __launch_bounds__(kSampleThreads)
    SampleOften(const __grid_constant__ BinPlan plan, const uint64_t* keys, KeyBins bins,
                DistinctKeys distinct) {
  constexpr uint32_t kEach = kSample / kSampleThreads;
  constexpr uint32_t kFree = ~0U;
  __shared__ uint64_t sampled[kSampleRoom];
  __shared__ uint8_t tables[kSampleRoom];
  __shared__ uint32_t times[kSampleRoom];
  __shared__ uint32_t slots[kSampleSlots];
  __shared__ uint32_t count;
  static_assert(kGroupTablesMax <= 256);
  const auto begin_of = [&](uint32_t part) {
    return static_cast<uint32_t>(uint64_t{part} * plan.keys / kSample);
  };
  // One key of each part of the batch, at a place of its own there: batches may have a rhythm.
  uint32_t positions[kEach];
  uint64_t loaded[kEach];
#pragma unroll
  for (uint32_t i = 0; i < kEach; ++i) {
    const uint32_t part = i * kSampleThreads + threadIdx.x;
    const uint32_t begin = begin_of(part);
    const uint32_t length = begin_of(part + 1) - begin;
    positions[i] =
        length == 0 ? kFree : begin + static_cast<uint32_t>((Mix64(part) >> 32) * length >> 32);
    loaded[i] = length == 0 ? 0 : keys[positions[i]];
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *distinct.missing_count = 0;
    distinct.often_counts[0] = distinct.often_counts[1] = 0;
  }
  for (uint32_t i = threadIdx.x; i < kSampleSlots; i += kSampleThreads) slots[i] = kFree;
  for (uint32_t i = threadIdx.x; i < kSampleRoom; i += kSampleThreads) times[i] = 0;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  TableWalk<WalkOver::kPositions> walk(plan);
#pragma unroll
  for (uint32_t i = 0; i < kEach; ++i) {
    if (positions[i] == kFree) continue;
    walk.Of(positions[i]);
    const uint32_t table = walk.number();
    if (SampleHash(plan, loaded[i], table) % kSampleBlocks != blockIdx.x) continue;
    const uint32_t at = atomicAdd(&count, 1U);
    if (at >= kSampleRoom) continue;
    sampled[at] = loaded[i];
    tables[at] = static_cast<uint8_t>(table);
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < min(count, kSampleRoom); i += kSampleThreads) {
    const uint32_t hash = SampleHash(plan, sampled[i], tables[i]) / kSampleBlocks;
    for (uint32_t at = hash % kSampleSlots;; at = (at + 1) % kSampleSlots) {
      const uint32_t there = atomicCAS(slots + at, kFree, i);
      const uint32_t same = there == kFree ? i : there;
      if (sampled[same] != sampled[i] || tables[same] != tables[i]) continue;
      atomicAdd(times + same, 1U);
      break;
    }
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < min(count, kSampleRoom); i += kSampleThreads) {
    if (times[i] < 2) continue;
    const BinPlan::Table& table = plan.tables[tables[i]];
    const uint32_t own = atomicAdd(bins.own_counts + tables[i], 1U);
    if (own >= table.own) continue;
    const uint64_t key = sampled[i];
    const uint32_t bin = table.first_bin + table.by_hash + own;
    bins.own_keys[bin] = key;
    auto at = static_cast<uint32_t>(table.HomeOf(key) >> 20) % kOwnSlots;
    while (atomicCAS(bins.own_bins + at, 0U, bin + 1) != 0) at = (at + 1) % kOwnSlots;
    bins.own_bins_keys[at] = key;
  }
}

// Whether any key of the batch has a bin of its own; and the bin of any of them.
class BinFinder {
 public:
  __device__ BinFinder(const BinPlan& plan, const KeyBins& bins) : bins_(bins) {
    for (uint32_t t = 0; t < plan.count; ++t) has_own_ |= bins.own_counts[t] != 0;
  }
  __device__ uint32_t Of(const BinPlan::Table& table, uint64_t key) const {
    const uint64_t home = table.HomeOf(key);
    if (has_own_) {
      for (auto at = static_cast<uint32_t>(home >> 20) % kOwnSlots;; at = (at + 1) % kOwnSlots) {
        const uint32_t own = bins_.own_bins[at];
        if (own == 0) break;
        const uint32_t bin = own - 1;
        const bool is_of_table = bin - (table.first_bin + table.by_hash) < table.own;
        if (is_of_table && bins_.own_bins_keys[at] == key) return bin;
      }
    }
    return table.first_bin + static_cast<uint32_t>((home >> 32) * table.by_hash >> 32);
  }

 private:
  const KeyBins& bins_;
  bool has_own_ = false;
};

// How many keys of a tile go to each bin.
template <uint32_t kThreads>
__global__ void __launch_bounds__(kThreads)
    CountBins(const __grid_constant__ BinPlan plan, const uint64_t* keys, KeyBins bins) {
  constexpr uint32_t kEach = BinPlan::kTileKeys / kThreads;
  extern __shared__ uint4 shared[];
  auto* const counts = reinterpret_cast<uint32_t*>(shared);
  const uint32_t begin = blockIdx.x * BinPlan::kTileKeys + threadIdx.x;
  uint64_t loaded[kEach];
#pragma unroll
  for (uint32_t i = 0; i < kEach; ++i) {
    const uint32_t position = begin + i * kThreads;
    loaded[i] = position < plan.keys ? keys[position] : 0;
  }
  for (uint32_t bin = threadIdx.x; bin < plan.bins; bin += kThreads) counts[bin] = 0;
  __syncthreads();
  const BinFinder finder(plan, bins);
  TableWalk<WalkOver::kPositions> walk(plan);
#pragma unroll
  for (uint32_t i = 0; i < kEach; ++i) {
    const uint32_t position = begin + i * kThreads;
    if (position >= plan.keys) break;
    atomicAdd(counts + finder.Of(walk.Of(position), loaded[i]), 1U);
  }
  __syncthreads();
  for (uint32_t bin = threadIdx.x; bin < plan.bins; bin += kThreads) {
    bins.counts[size_t{blockIdx.x} * plan.bins + bin] = static_cast<uint16_t>(counts[bin]);
  }
}

// Where bins begin, and each tile's keys in them. A lane a bin, warps share the tiles.
__global__ void __launch_bounds__(kPlaceThreads)
    PlaceBins(const __grid_constant__ BinPlan plan, KeyBins bins) {
  constexpr uint32_t kWarps = kPlaceThreads / 32;
  __shared__ uint32_t of_warps[kWarps][kPlaceBins + 1];
  __shared__ uint32_t begins[kPlaceBins];
  __shared__ uint32_t taken;
  if (threadIdx.x == 0) taken = bins.places.Take();
  __syncthreads();
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t bin = taken * kPlaceBins + Lane();
  const bool is_one = bin < plan.bins;
  const uint32_t each = (plan.tiles + kWarps - 1) / kWarps;
  const uint32_t first = min(warp * each, plan.tiles);
  const uint32_t end = min(first + each, plan.tiles);
  uint32_t own = 0;
#pragma unroll 8
  for (uint32_t tile = first; tile < end; ++tile) {
    own += is_one ? bins.counts[size_t{tile} * plan.bins + bin] : 0;
  }
  of_warps[warp][Lane()] = own;
  __syncthreads();
  if (warp == 0) {
    uint32_t of_bin = 0;
    for (uint32_t w = 0; w < kWarps; ++w) {
      const uint32_t its = of_warps[w][Lane()];
      of_warps[w][Lane()] = of_bin;
      of_bin += its;
    }
    const uint32_t up_to = ShufflePrefixSum(of_bin);
    const uint32_t before = bins.places.Before(taken, __shfl_sync(~0U, up_to, 31));
    begins[Lane()] = before + up_to - of_bin;
    if (is_one) bins.starts[bin] = before + up_to - of_bin;
    if (bin + 1 == plan.bins) bins.starts[plan.bins] = before + up_to;
  }
  __syncthreads();
  uint32_t at = begins[Lane()] + of_warps[warp][Lane()];
#pragma unroll 8
  for (uint32_t tile = first; tile < end; ++tile) {
    if (!is_one) continue;
    const size_t of_tile = size_t{tile} * plan.bins + bin;
    bins.offsets[of_tile] = at;
    at += bins.counts[of_tile];
  }
}

// A tile's keys in the order of their bins, as they leave shared memory.
struct SortedTile {
  uint64_t keys[BinPlan::kTileKeys];
  uint32_t positions[BinPlan::kTileKeys];
  uint16_t bins[BinPlan::kTileKeys];
};

// The shared memory of a block that deals: for each bin where the tile's keys of it go, less their
// place in the tile; then how many of each bin the warps have, and after that a SortedTile.
constexpr size_t DealBytes(uint32_t bins, uint32_t threads) {
  return bins * sizeof(uint32_t) +
         std::max(size_t{threads} / 32 * bins * sizeof(uint16_t), sizeof(SortedTile));
}

constexpr uint32_t kDealThreads = 1024;
constexpr size_t kSharedBeside = kDealThreads / 32 * sizeof(uint32_t);
static_assert(DealBytes(BinPlan::kBinsMax, kDealThreads / 2) + kSharedBeside <= kDealSharedMost);

// Keys of a bin stay in the order of the batch: warps have neighbouring parts of a tile, and which
// of a warp's keys of a bin a key is, is counted step by step.
template <uint32_t kThreads>
__global__ void __launch_bounds__(kThreads)
    Deal(const __grid_constant__ BinPlan plan, const uint64_t* keys, KeyBins bins,
         uint32_t* order) {
  constexpr uint32_t kWarps = kThreads / 32;
  constexpr uint32_t kEach = BinPlan::kTileKeys / kThreads;
  constexpr uint32_t kNone = 0xFFFF;
  static_assert(BinPlan::kBinsMax < kNone && BinPlan::kTileKeys < kNone);
  extern __shared__ uint4 shared[];
  __shared__ uint32_t of_warps[kWarps];
  auto* const moves = reinterpret_cast<uint32_t*>(shared);
  uint32_t* const pairs = moves + plan.bins;  // of counts
  SortedTile& tile = *reinterpret_cast<SortedTile*>(pairs);
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t words = plan.bins / 2;
  auto* const counts = reinterpret_cast<uint16_t*>(pairs + warp * words);
  const uint32_t begin = blockIdx.x * BinPlan::kTileKeys + warp * 32 * kEach + Lane();
  uint64_t loaded[kEach];
#pragma unroll
  for (uint32_t i = 0; i < kEach; ++i) {
    const uint32_t position = begin + i * 32;
    loaded[i] = position < plan.keys ? keys[position] : 0;
  }
  for (uint32_t i = threadIdx.x; i < kWarps * words; i += kThreads) pairs[i] = 0;
  __syncthreads();

  uint32_t places[kEach];  // the bin << 16, and in the end the place in the tile
  const BinFinder finder(plan, bins);
  TableWalk<WalkOver::kPositions> walk(plan);
#pragma unroll
  for (uint32_t i = 0; i < kEach; ++i) {
    const uint32_t position = begin + i * 32;
    places[i] = position < plan.keys ? finder.Of(walk.Of(position), loaded[i]) << 16 : kNone << 16;
  }
#pragma unroll
  for (uint32_t i = 0; i < kEach; ++i) {
    const uint32_t same = __match_any_sync(~0U, places[i]);
    const auto below = static_cast<uint32_t>(__popc(same & ((1U << Lane()) - 1)));
    places[i] |= below << 8 | static_cast<uint32_t>(__popc(same));
  }
#pragma unroll
  for (uint32_t i = 0; i < kEach; ++i) {
    const uint32_t bin = places[i] >> 16;
    const uint32_t below = places[i] >> 8 & 0xFF;
    const uint32_t before = bin == kNone ? 0 : counts[bin];
    __syncwarp();
    if (below == 0 && bin != kNone) {
      counts[bin] = static_cast<uint16_t>(before + (places[i] & 0xFF));
    }
    __syncwarp();
    places[i] = bin << 16 | (before + below);
  }
  __syncthreads();

  // Counts become those of the warps before; two bins at a time, some in a row a thread.
  constexpr uint32_t kWordsEach = Parts(BinPlan::kBinsMax / 2, kThreads);
  uint32_t befores[kWordsEach];  // of the thread's bins; how many are of the word's first << 16
  uint32_t own = 0;
#pragma unroll
  for (uint32_t i = 0; i < kWordsEach; ++i) {
    const uint32_t word = threadIdx.x * kWordsEach + i;
    uint32_t both = 0;
    for (uint32_t w = 0; word < words && w < kWarps; ++w) {
      const uint32_t its = pairs[w * words + word];
      pairs[w * words + word] = both;
      both += its;
    }
    befores[i] = own | both << 16;
    own += (both & 0xFFFF) + (both >> 16);
  }
  const uint32_t up_to = ShufflePrefixSum(own);
  if (Lane() == 31) of_warps[warp] = up_to;
  __syncthreads();
  uint32_t before = up_to - own;
  for (uint32_t w = 0; w < warp; ++w) before += of_warps[w];
#pragma unroll
  for (uint32_t i = 0; i < kWordsEach; ++i) {
    const uint32_t word = threadIdx.x * kWordsEach + i;
    if (word >= words) break;
    moves[2 * word] = before + (befores[i] & 0xFFFF);
    moves[2 * word + 1] = before + (befores[i] & 0xFFFF) + (befores[i] >> 16);
  }
  __syncthreads();
#pragma unroll
  for (uint32_t i = 0; i < kEach; ++i) {
    const uint32_t bin = places[i] >> 16;
    if (bin == kNone) continue;
    places[i] = bin << 16 | (moves[bin] + counts[bin] + (places[i] & 0xFFFF));
  }
  __syncthreads();
  for (uint32_t bin = threadIdx.x; bin < plan.bins; bin += kThreads) {
    moves[bin] = bins.offsets[size_t{blockIdx.x} * plan.bins + bin] - moves[bin];
  }
#pragma unroll
  for (uint32_t i = 0; i < kEach; ++i) {
    const uint32_t bin = places[i] >> 16;
    if (bin == kNone) continue;
    const uint32_t place = places[i] & 0xFFFF;
    tile.keys[place] = loaded[i];
    tile.positions[place] = begin + i * 32;
    tile.bins[place] = static_cast<uint16_t>(bin);
  }
  __syncthreads();
  TableWalk<WalkOver::kBins> by_bin(plan);
  const uint32_t count = min(BinPlan::kTileKeys, plan.keys - blockIdx.x * BinPlan::kTileKeys);
  for (uint32_t i = threadIdx.x; i < count; i += kThreads) {
    const uint32_t bin = tile.bins[i];
    const uint32_t to = moves[bin] + i;
    const uint32_t position = tile.positions[i];
    const BinPlan::Table& table = by_bin.Of(bin);
    if (bin - table.first_bin >= table.by_hash) {
      order[to] = position;
      continue;
    }
    const uint64_t key = tile.keys[i];
    reinterpret_cast<uint4*>(bins.dealt)[to] = {static_cast<uint32_t>(key),
                                                static_cast<uint32_t>(key >> 32), position,
                                                static_cast<uint32_t>(table.HomeOf(key))};
  }
}

// Blocks of more threads are faster, and have less room for bins.
template <uint32_t kThreads>
void CountAndDeal(const BinPlan& plan, const uint64_t* keys, const KeyBins& bins, uint32_t* order,
                  cudaStream_t stream) {
  const size_t count_bytes = plan.bins * sizeof(uint32_t);
  const size_t deal_bytes = DealBytes(plan.bins, kThreads);
  (void)cudaFuncSetAttribute(Deal<kThreads>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(deal_bytes));
  CountBins<kThreads><<<plan.tiles, kThreads, count_bytes, stream>>>(plan, keys, bins);
  PlaceBins<<<Parts(plan.bins, kPlaceBins), kPlaceThreads, 0, stream>>>(plan, bins);
  Deal<kThreads><<<plan.tiles, kThreads, deal_bytes, stream>>>(plan, keys, bins, order);
}

}  // namespace

void DealKeys(const BinPlan& plan, const uint64_t* keys, const KeyBins& bins,
              const DistinctKeys& distinct, cudaStream_t stream) {
  SampleOften<<<kSampleBlocks, kSampleThreads, 0, stream>>>(plan, keys, bins, distinct);
  if (DealBytes(plan.bins, kDealThreads) + kSharedBeside <= kDealSharedMost) {
    CountAndDeal<kDealThreads>(plan, keys, bins, distinct.order, stream);
  } else {
    CountAndDeal<kDealThreads / 2>(plan, keys, bins, distinct.order, stream);
  }
}

}  // namespace strata
