#include <cuda_runtime.h>

#include <bit>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/hashmap/map_device.cuh"
#include "kernels/sparse/exclusive_sum.cuh"
#include "kernels/sparse/partition.h"
#include "strata/status.h"

namespace strata {
namespace {

constexpr uint32_t kRunKeys = 512;  // of a warp
constexpr uint32_t kBlockWarps = kMapThreads / 32;

uint32_t RunsOf(size_t keys) { return static_cast<uint32_t>((keys + kRunKeys - 1) / kRunKeys); }

// Counts and places: those of owner 0 by run, then those of owner 1, ...
struct Runs {
  std::span<const uint64_t> keys;
  const uint16_t* owner_of_shard;
  uint32_t owners;
  uint32_t owner_bits;
  uint32_t count;
  uint32_t* of_owners;

  __device__ uint32_t* Of(uint32_t owner, uint64_t run) const {
    return of_owners + uint64_t{owner} * count + run;
  }
};

// Calls visit(position, key, place) for the keys of the warp's run, 32 at a time, each by a lane.
// places, in shared memory and of the warp alone: the next key's of each owner, which move on.
template <typename Visit>
__device__ void WalkRun(const Runs& runs, uint64_t run, uint32_t* places, const Visit& visit) {
  constexpr uint32_t kAtOnce = 4;  // loads that overlap
  const uint64_t end = min(uint64_t{runs.keys.size()}, (run + 1) * kRunKeys);
  for (uint64_t first = run * kRunKeys + Lane(); first - Lane() < end; first += 32 * kAtOnce) {
    uint64_t keys[kAtOnce];
#pragma unroll
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      keys[k] = first + 32 * k < end ? runs.keys[first + 32 * k] : 0;
    }
#pragma unroll
    for (uint32_t k = 0; k < kAtOnce; ++k) {
      const uint64_t position = first + 32 * k;
      const bool is_one = position < end;
      const uint32_t owner = runs.owner_of_shard[OwnerShardOf(keys[k])];
      uint32_t same = __ballot_sync(~0U, is_one);  // and the lanes whose keys have this owner
      for (uint32_t bit = 0; bit < runs.owner_bits; ++bit) {
        const bool is_set = (owner >> bit & 1) != 0;
        const uint32_t set = __ballot_sync(~0U, is_set);
        same &= is_set ? set : ~set;
      }
      const uint32_t before = same & ((1U << Lane()) - 1);
      if (is_one) visit(position, keys[k], places[owner] + static_cast<uint32_t>(__popc(before)));
      __syncwarp();  // all have read their places
      if (is_one && before == 0) places[owner] += static_cast<uint32_t>(__popc(same));
      __syncwarp();
    }
  }
}

__global__ void __launch_bounds__(kMapThreads) CountRuns(Runs runs) {
  __shared__ uint32_t counts[kBlockWarps][kOwnersMax];
  const uint64_t run = ThreadNumber() / 32;
  if (run >= runs.count) return;
  uint32_t* own = counts[threadIdx.x / 32];
  for (uint32_t owner = Lane(); owner < runs.owners; owner += 32) own[owner] = 0;
  __syncwarp();
  WalkRun(runs, run, own, [](uint64_t, uint64_t, uint32_t) {});
  for (uint32_t owner = Lane(); owner < runs.owners; owner += 32) *runs.Of(owner, run) = own[owner];
}

__global__ void __launch_bounds__(kMapThreads) PlaceRuns(Runs runs, Partition out) {
  __shared__ uint32_t places[kBlockWarps][kOwnersMax];
  const uint64_t run = ThreadNumber() / 32;
  if (run >= runs.count) return;
  uint32_t* own = places[threadIdx.x / 32];
  for (uint32_t owner = Lane(); owner < runs.owners; owner += 32) {
    own[owner] = *runs.Of(owner, run);
    if (run != 0) continue;
    const auto keys = static_cast<uint32_t>(runs.keys.size());
    out.counts[owner] = (owner + 1 == runs.owners ? keys : *runs.Of(owner + 1, 0)) - own[owner];
  }
  __syncwarp();
  WalkRun(runs, run, own, [&](uint64_t position, uint64_t key, uint32_t place) {
    out.order[place] = static_cast<uint32_t>(position);
    out.keys[place] = key;
  });
}

}  // namespace

size_t PartitionScratchBytes(size_t keys, uint32_t owners) {
  const size_t counts = size_t{RunsOf(keys)} * owners;
  return ScratchAligned(counts * sizeof(uint32_t)) + SumScratchBytes(counts);
}

void PartitionByOwner(const Exec& exec, std::span<const uint64_t> keys,
                      const uint16_t* owner_of_shard, uint32_t owners, const Partition& out,
                      std::span<std::byte> scratch) {
  STRATA_CHECK(owners >= 1 && owners <= kOwnersMax);
  const auto stream = StreamOf(exec);
  if (keys.empty()) {
    (void)cudaMemsetAsync(out.counts, 0, owners * sizeof *out.counts, stream);
    return;
  }
  Scratch left(scratch);
  const uint32_t count = RunsOf(keys.size());
  const size_t counts = size_t{count} * owners;
  const Runs runs{keys,   owner_of_shard,
                  owners, static_cast<uint32_t>(std::bit_width(owners - 1)),
                  count,  left.Take<uint32_t>(counts)};
  const uint32_t blocks = BlocksFor(uint64_t{count} * 32);
  CountRuns<<<blocks, kMapThreads, 0, stream>>>(runs);
  SumBefore(runs.of_owners, counts, &left, stream);
  PlaceRuns<<<blocks, kMapThreads, 0, stream>>>(runs, out);
}

}  // namespace strata
