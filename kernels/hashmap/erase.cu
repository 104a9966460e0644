#include "kernels/hashmap/hash_map.h"
#include "kernels/hashmap/map_device.cuh"

namespace strata {
namespace {

__global__ void Erase(MapRef map, const uint64_t* keys, uint64_t count, uint64_t* erased,
                      uint32_t* erased_count) {
  const uint64_t i = ThreadNumber();
  if (i >= count) return;
  const uint64_t place = FindPlace(map, keys[i]);
  if (place == kNowhere) return;
  // Of equal keys one clears the digest, and counts.
  const uint32_t before = atomicAnd(LineWord(map, place), ~(0xffU << WordShift(place)));
  if ((before >> WordShift(place) & 0xffU) == 0) return;
  map.HeaderOf(place)->score = kFreeScore;
  atomicAdd(reinterpret_cast<unsigned long long*>(&map.counts->rows), ~0ULL);
  if (erased != nullptr) erased[NextOf(erased_count)] = keys[i];
}

}  // namespace

void EraseRows(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
               uint64_t* erased, uint32_t* erased_count) {
  if (keys.empty()) return;
  Erase<<<BlocksFor(keys.size()), kMapThreads, 0, static_cast<cudaStream_t>(exec.stream)>>>(
      map, keys.data(), keys.size(), erased, erased_count);
}

}  // namespace strata
