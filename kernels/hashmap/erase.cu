#include "kernels/core/cuda_stream.cuh"
#include "kernels/hashmap/map_device.cuh"
#include "strata/gpu/hash_map.h"

namespace strata {
namespace {

__global__ void Erase(MapRef map, const uint64_t* keys, uint64_t count, uint64_t* erased,
                      uint32_t* erased_count) {
  const uint64_t i = ThreadNumber();
  const uint64_t place = i < count ? FindPlace(map, keys[i]) : kNowhere;
  bool was_there = false;
  if (place != kNowhere) {
    // Of equal keys one clears the digest, and counts.
    const uint32_t before = atomicAnd(LineWord(map, place), ~(0xffU << WordShift(place)));
    was_there = (before >> WordShift(place) & 0xffU) != 0;
  }
  if (was_there) {
    map.HeaderOf(place)->score = kFreeScore;
    atomicAdd(&map.counts->rows, ~0ULL);
  }
  if (erased == nullptr) return;
  const uint32_t at = PlaceInList(was_there, erased_count);
  if (was_there) erased[at] = keys[i];
}

}  // namespace

void EraseRows(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
               uint64_t* erased, uint32_t* erased_count) {
  if (keys.empty()) return;
  Erase<<<BlocksFor(keys.size()), kMapThreads, 0, StreamOf(exec)>>>(map, keys.data(), keys.size(),
                                                                    erased, erased_count);
}

}  // namespace strata
