#include "kernels/hashmap/hash_map.h"
#include "kernels/hashmap/map_device.cuh"

namespace strata {
namespace {

// A warp a pair, a lane a slot.
__global__ void Scan(MapRef map, uint64_t first, uint64_t count, RowList out) {
  const uint64_t number = ThreadNumber() / 32;
  if (number >= count) return;
  const uint32_t lane = Lane();
  const uint64_t begin = (first + number) * 2 * kLineBytes;
  const uint64_t place = begin + lane;
  const bool live = lane % kLineBytes != kBucketSlots && map.lines[place] != 0;
  const uint32_t lives = __ballot_sync(~0U, live);
  uint32_t base = 0;
  if (lane == 0) base = atomicAdd(out.count, static_cast<uint32_t>(__popc(lives)));
  base = __shfl_sync(~0U, base, 0);
  const uint32_t at = base + static_cast<uint32_t>(__popc(lives & ((1U << lane) - 1)));
  const uint32_t width = map.dim + map.state_width;
  if (live) out.headers[at] = *map.HeaderOf(place);
  CopyFloats(live ? map.ValueOf(place) : nullptr, out.rows + uint64_t{at} * width, width);
}

}  // namespace

void ScanPairs(const Exec& exec, const MapRef& map, uint64_t first, uint64_t count,
               const RowList& out) {
  const auto stream = static_cast<cudaStream_t>(exec.stream);
  (void)cudaMemsetAsync(out.count, 0, sizeof *out.count, stream);
  if (count == 0) return;
  Scan<<<BlocksFor(count * 32), kMapThreads, 0, stream>>>(map, first, count, out);
}

}  // namespace strata
