#include <algorithm>
#include <cub/device/device_radix_sort.cuh>

#include "kernels/setops/gpu_tiles.cuh"
#include "kernels/setops/set_block.h"

namespace strata::gpu_sets {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarp = 32;
constexpr int kRankKeyBits = 48;

unsigned BlocksFor(size_t threads) {
  return static_cast<unsigned>(std::max<size_t>((threads + kThreads - 1) / kThreads, 1));
}

// Keys that put tokens in the order of ranks.
__global__ void __launch_bounds__(kThreads)
    MakeRankKeys(const uint32_t* documents_with, uint64_t* keys) {
  const uint32_t token = blockIdx.x * kThreads + threadIdx.x;
  if (token >= SetBlock::kDirectTokens) return;
  keys[token] = uint64_t{~documents_with[token]} << 16 | token;
}

__global__ void __launch_bounds__(kThreads)
    WriteRanks(const uint64_t* keys, const uint32_t* documents_with, uint16_t* ranks,
               uint32_t* ranked) {
  const uint32_t rank = blockIdx.x * kThreads + threadIdx.x;
  if (rank >= SetBlock::kDirectTokens) return;
  const auto token = static_cast<uint16_t>(keys[rank]);
  const bool occurs = documents_with[token] > 0;
  ranks[token] = occurs ? static_cast<uint16_t>(rank) : kNoRank;
  if (occurs) atomicAdd(ranked, 1U);
}

// What a tile's documents take in shared memory, if they are short. A row more than its tokens, so
// that lanes' rows begin in different banks.
constexpr unsigned kStagedTokens = 128;
constexpr unsigned kStagedRow = kStagedTokens + kGroup;
constexpr size_t kStagedBytes = kThreads / kWarp * kTile * kStagedRow * sizeof(uint16_t);

// Where a tile's documents are.
struct TilePlace {
  const uint32_t* sources;  // of the first of them
  const uint32_t* lengths;
  const uint16_t* tokens;
  const uint16_t* ranks;
  uint32_t count;
  uint32_t groups;

  __device__ uint32_t SourceOf(uint32_t document) const {
    return document < count ? sources[document] : 0;
  }
  __device__ uint32_t LengthOf(uint32_t document) const {
    return document < count ? lengths[document] : 0;
  }
};

// A lane's share of a document of up to kStagedTokens: tokens `lane`, 32 + `lane` and so on, or
// their ranks.
struct LaneShare {
  static constexpr unsigned kCount = kStagedTokens / kWarp;
  static constexpr uint32_t kNone = ~0U;  // instead of one that is not there
  uint32_t of[kCount];
};

__device__ LaneShare TokensOf(const TilePlace& tile, uint32_t source, uint32_t length) {
  LaneShare tokens;
#pragma unroll
  for (unsigned i = 0; i < LaneShare::kCount; ++i) {
    const uint32_t number = i * kWarp + threadIdx.x % kWarp;
    tokens.of[i] = number < length ? tile.tokens[source + number] : LaneShare::kNone;
  }
  return tokens;
}

__device__ LaneShare RanksOf(const TilePlace& tile, const LaneShare& tokens) {
  LaneShare ranks;
#pragma unroll
  for (unsigned i = 0; i < LaneShare::kCount; ++i) {
    ranks.of[i] = tokens.of[i] == LaneShare::kNone ? LaneShare::kNone : tile.ranks[tokens.of[i]];
  }
  return ranks;
}

// Ranks of a document's tokens, the hot ones first and the others last; how many are hot. A warp.
__device__ uint32_t StageDocument(const LaneShare& ranks, uint32_t room, uint16_t* row) {
  const unsigned lane = threadIdx.x % kWarp;
  const uint32_t below = (1U << lane) - 1;
  uint32_t hot = 0;
  uint32_t others = 0;
#pragma unroll
  for (unsigned i = 0; i < LaneShare::kCount; ++i) {
    const auto rank = static_cast<uint16_t>(ranks.of[i]);
    const bool is_there = ranks.of[i] != LaneShare::kNone;
    const bool is_hot = is_there && rank < kHotRanks;
    const uint32_t of_hot = __ballot_sync(~0U, static_cast<int>(is_hot));
    const uint32_t of_others = __ballot_sync(~0U, static_cast<int>(is_there && !is_hot));
    if (is_hot) {
      row[hot + __popc(of_hot & below)] = rank;
    } else if (is_there) {
      row[room - 1 - others - __popc(of_others & below)] = rank;
    }
    hot += __popc(of_hot);
    others += __popc(of_others);
  }
  for (uint32_t i = hot + lane; i < room - others; i += kWarp) row[i] = kNoRank;
  return hot;
}

// All documents of a tile, a row each; how many tokens are hot in every one of them. A warp.
__device__ uint32_t StageTile(const TilePlace& tile, uint16_t* rows) {
  const unsigned lane = threadIdx.x % kWarp;
  const uint32_t source = tile.SourceOf(lane);
  const uint32_t length = tile.LengthOf(lane);
  const auto tokens_of = [&](uint32_t document) {
    const uint32_t at = __shfl_sync(~0U, source, static_cast<int>(document % kTile));
    const uint32_t count = __shfl_sync(~0U, length, static_cast<int>(document % kTile));
    return TokensOf(tile, at, document < kTile ? count : 0);
  };
  // Tokens are asked for two documents ahead and ranks one, as both take long to come.
  LaneShare tokens = tokens_of(0);
  LaneShare ranks = RanksOf(tile, tokens);
  tokens = tokens_of(1);
  uint32_t hot = kStagedTokens;
  for (uint32_t document = 0; document < kTile; ++document) {
    const LaneShare next = RanksOf(tile, tokens);
    tokens = tokens_of(document + 2);
    hot = min(hot, StageDocument(ranks, tile.groups * kGroup, rows + document * kStagedRow));
    ranks = next;
  }
  return hot;
}

// A group of a document's ranks as they are, from token number `at` on.
__device__ uint4 PlainGroup(const TilePlace& tile, uint32_t document, uint32_t at) {
  const uint32_t source = tile.SourceOf(document);
  const uint32_t begin = source + at;
  const uint32_t end = source + tile.LengthOf(document);
  uint32_t words[kGroup / 2];
  for (unsigned i = 0; i < kGroup / 2; ++i) {
    const uint32_t token = begin + 2 * i;
    const uint32_t low = token < end ? tile.ranks[tile.tokens[token]] : kNoRank;
    const uint32_t high = token + 1 < end ? tile.ranks[tile.tokens[token + 1]] : kNoRank;
    words[i] = high << 16 | low;
  }
  return {words[0], words[1], words[2], words[3]};
}

// A warp a tile.
__global__ void __launch_bounds__(kThreads) WriteTiles(const __grid_constant__ TileJob job) {
  const Block& block = job.block;
  extern __shared__ uint4 dynamic[];
  const uint32_t number = (blockIdx.x * kThreads + threadIdx.x) / kWarp;
  if (number >= (block.size + kTile - 1) / kTile) return;
  const unsigned lane = threadIdx.x % kWarp;
  const uint32_t place = number * kTile;
  const uint32_t begin = block.tiles[number];
  const TilePlace tile{
      job.raw.sources + place,        block.lengths + place,          job.raw.tokens, job.ranks,
      min(kTile, block.size - place), block.tiles[number + 1] - begin};
  uint4* const out = job.forward + (size_t{job.first_group} + begin) * kTile + lane;
  uint32_t hot = 0;
  if (tile.groups * kGroup <= kStagedTokens) {
    auto* const rows =
        reinterpret_cast<uint16_t*>(dynamic) + threadIdx.x / kWarp * kTile * kStagedRow;
    hot = StageTile(tile, rows);
    __syncwarp();
    const auto* const row = reinterpret_cast<const uint4*>(rows + lane * kStagedRow);
    for (uint32_t group = 0; group < tile.groups; ++group) out[group * kTile] = row[group];
  } else {
    for (uint32_t group = 0; group < tile.groups; ++group) {
      out[size_t{group} * kTile] = PlainGroup(tile, lane, group * kGroup);
    }
  }
  if (lane != 0) return;
  const uint32_t shortest = block.lengths[place];
  const bool is_mixed =
      block.lengths[place + tile.count - 1] != shortest || shortest >= TileInfo::kMixed;
  job.tiles[number] = {job.first_group + begin,
                       tile.groups,
                       job.number << 16 | place,
                       static_cast<uint8_t>(tile.count),
                       static_cast<uint8_t>(hot / kGroup),
                       is_mixed ? TileInfo::kMixed : static_cast<uint16_t>(shortest)};
}

cudaError_t SortKeys(void* scratch, size_t& bytes, cub::DoubleBuffer<uint64_t>& keys,
                     cudaStream_t stream) {
  return cub::DeviceRadixSort::SortKeys(
      scratch, bytes, keys, static_cast<int>(SetBlock::kDirectTokens), 0, kRankKeyBits, stream);
}

}  // namespace

cudaError_t RankScratchBytes(size_t& bytes) {
  cub::DoubleBuffer<uint64_t> none;
  return SortKeys(nullptr, bytes, none, nullptr);
}

cudaError_t MakeRanks(const RankJob& job, cudaStream_t stream) {
  constexpr size_t kTokens = SetBlock::kDirectTokens;
  cub::DoubleBuffer<uint64_t> order(job.keys[0], job.keys[1]);
  cudaError_t error = cudaMemsetAsync(job.ranked, 0, sizeof(uint32_t), stream);
  if (error != cudaSuccess) return error;
  MakeRankKeys<<<BlocksFor(kTokens), kThreads, 0, stream>>>(job.documents_with, order.Current());
  size_t bytes = job.scratch_bytes;
  error = SortKeys(job.scratch, bytes, order, stream);
  if (error != cudaSuccess) return error;
  WriteRanks<<<BlocksFor(kTokens), kThreads, 0, stream>>>(order.Current(), job.documents_with,
                                                          job.ranks, job.ranked);
  return cudaGetLastError();
}

cudaError_t MakeTiles(const TileJob& job, cudaStream_t stream) {
  const cudaError_t error = cudaFuncSetAttribute(
      WriteTiles, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kStagedBytes));
  if (error != cudaSuccess) return error;
  const size_t tiles = (job.block.size + kTile - 1) / kTile;
  WriteTiles<<<BlocksFor(tiles * kWarp), kThreads, kStagedBytes, stream>>>(job);
  return cudaGetLastError();
}

}  // namespace strata::gpu_sets
