#include <cuda_runtime.h>

#include <algorithm>

#include "base/hash.h"
#include "kernels/core/cuda_stream.cuh"
#include "kernels/hashmap/row_device.cuh"
#include "kernels/sparse/claims.cuh"
#include "kernels/sparse/missing_keys.h"
#include "kernels/sparse/scratch.h"
#include "kernels/sparse/tile_sums.cuh"
#include "strata/status.h"

namespace strata {
namespace {

constexpr uint32_t kTileItems = 8;  // of a thread, 32 apart
constexpr uint32_t kTileWarps = kMapThreads / 32;
constexpr uint32_t kTileEntries = kMapThreads * kTileItems;

constexpr uint32_t TilesOf(size_t entries) {
  return static_cast<uint32_t>((entries + kTileEntries - 1) / kTileEntries);
}

// The entry of each key, to `entries`. Readies `sums` for Number.
__global__ void Claim(const uint64_t* keys, uint64_t count, uint64_t home_seed, Claims claims,
                      uint32_t* entries, TileSums sums, uint64_t words) {
  const uint64_t m = ThreadNumber();
  if (m < words) sums.words[m] = 0;
  if (m >= count) return;
  const uint64_t key = keys[m];
  entries[m] = claims.Of(SeededMix(key, home_seed), static_cast<uint32_t>(m),
                         [&](uint32_t there) { return keys[there] == key; });
}

// Entries that are taken get their keys' numbers instead of positions.
__global__ void __launch_bounds__(kMapThreads)
    Number(uint32_t* claimed, uint32_t entries, const uint64_t* keys, DistinctMissing out,
           TileSums tiles) {
  __shared__ TileSums::OfBlock<kTileWarps> shared;
  const uint32_t tile = tiles.TakeByBlock(&shared);
  const uint32_t begin = tile * kTileEntries + threadIdx.x / 32 * 32 * kTileItems + Lane();
  uint32_t positions[kTileItems];
  uint32_t taken[kTileItems];  // lanes
  uint32_t of_warp = 0;
#pragma unroll
  for (uint32_t item = 0; item < kTileItems; ++item) {
    const uint32_t entry = begin + item * 32;
    positions[item] = entry < entries ? claimed[entry] : Claims::kFree;
    taken[item] = __ballot_sync(~0U, positions[item] != Claims::kFree);
    of_warp += static_cast<uint32_t>(__popc(taken[item]));
  }
  uint32_t before = tiles.BeforeWarp(tile, of_warp, &shared);
#pragma unroll
  for (uint32_t item = 0; item < kTileItems; ++item) {
    if (positions[item] != Claims::kFree) {
      const uint32_t j = before + static_cast<uint32_t>(__popc(taken[item] & ((1U << Lane()) - 1)));
      claimed[begin + item * 32] = j;
      out.keys[j] = keys[positions[item]];
      out.rows[j] = DistinctMissing::kNoRow;
    }
    before += static_cast<uint32_t>(__popc(taken[item]));
  }
  if (tile + 1 == gridDim.x && threadIdx.x + 1 == blockDim.x) *out.count = before;
}

__global__ void NumberAll(const uint32_t* claimed, uint32_t* numbers, uint64_t count) {
  const uint64_t m = ThreadNumber();
  if (m < count) numbers[m] = claimed[numbers[m]];
}

__global__ void NoteRows(RowsFromBelow from, uint32_t* rows) {
  const uint64_t r = ThreadNumber();
  if (r < from.count) rows[from.numbers[r]] = static_cast<uint32_t>(r);
}

template <bool kNarrow>
__global__ void Answer(MapRef map, RowsFromBelow from, MissingKeys missing,
                       DistinctMissing distinct, float* out) {
  const uint64_t m = ThreadNumber();
  const float* row = nullptr;
  float* to = nullptr;
  if (m < missing.keys.size()) {
    const uint32_t j = distinct.numbers[m];
    if (j - from.first < from.numbers_count) {
      const uint32_t r = distinct.rows[j];
      if (r != DistinctMissing::kNoRow) row = from.rows + uint64_t{r} * map.row_words;
      to = out + uint64_t{missing.positions[m]} * map.dim;
    }
  }
  if (__ballot_sync(~0U, row != nullptr) == 0) return;
  CopyValues<kNarrow>(map, row, to, /*aligned=*/map.row_words % 4 == 0);
}

template <bool kNarrow>
__global__ void Initial(MapRef map, RowStart start, MissingKeys missing, DistinctMissing distinct,
                        float* out, unsigned long long* hits) {
  const uint64_t m = ThreadNumber();
  const bool is_one = m < missing.keys.size();
  const bool answered = is_one && distinct.rows[distinct.numbers[m]] != DistinctMissing::kNoRow;
  const bool wants = is_one && !answered;
  WriteInitial<kNarrow>(map, start, wants, wants ? missing.keys[m] : 0,
                        wants ? out + uint64_t{missing.positions[m]} * map.dim : nullptr);
  CountLanes(answered, hits);
}

}  // namespace

size_t ListDistinctScratchBytes(size_t missing) {
  const size_t entries = Claims::EntriesFor(missing);
  return ScratchAligned(entries * sizeof(uint32_t)) +
         ScratchAligned(TileSums::WordsFor(TilesOf(entries)) * sizeof(unsigned long long));
}

void ListDistinct(const Exec& exec, std::span<const uint64_t> missing, uint64_t home_seed,
                  const DistinctMissing& distinct, std::span<std::byte> scratch) {
  const cudaStream_t stream = StreamOf(exec);
  if (missing.empty()) {
    (void)cudaMemsetAsync(distinct.count, 0, sizeof *distinct.count, stream);
    return;
  }
  const size_t count = missing.size();
  STRATA_CHECK(count <= kMissingKeysMax);  // or entries are more than 32 bits count
  const size_t entries = Claims::EntriesFor(count);
  const uint32_t tiles = TilesOf(entries);
  Scratch left(scratch);
  auto* claimed = left.Take<uint32_t>(entries);
  const size_t words = TileSums::WordsFor(tiles);
  const TileSums sums{left.Take<unsigned long long>(words)};
  (void)cudaMemsetAsync(claimed, 0xff, entries * sizeof(uint32_t), stream);
  Claim<<<BlocksFor(std::max(count, words)), kMapThreads, 0, stream>>>(
      missing.data(), count, home_seed, Claims::In(claimed, entries), distinct.numbers, sums,
      words);
  Number<<<tiles, kMapThreads, 0, stream>>>(claimed, static_cast<uint32_t>(entries), missing.data(),
                                            distinct, sums);
  NumberAll<<<BlocksFor(count), kMapThreads, 0, stream>>>(claimed, distinct.numbers, count);
}

void AnswerRows(const Exec& exec, const MapRef& map, const RowsFromBelow& from,
                const MissingKeys& missing, const DistinctMissing& distinct, float* out) {
  if (from.count == 0) return;
  NoteRows<<<BlocksFor(from.count), kMapThreads, 0, StreamOf(exec)>>>(from, distinct.rows);
  WithNarrow(map.IsNarrow(), [&](auto narrow) {
    Answer<narrow.value><<<BlocksFor(missing.keys.size()), kMapThreads, 0, StreamOf(exec)>>>(
        map, from, missing, distinct, out);
  });
}

void AnswerInitial(const Exec& exec, const MapRef& map, const RowStart& start,
                   const MissingKeys& missing, const DistinctMissing& distinct, float* out,
                   unsigned long long* hits) {
  if (missing.keys.empty()) return;
  WithNarrow(map.IsNarrow(), [&](auto narrow) {
    Initial<narrow.value><<<BlocksFor(missing.keys.size()), kMapThreads, 0, StreamOf(exec)>>>(
        map, start, missing, distinct, out, hits);
  });
}

}  // namespace strata
