#include "kernels/core/initializer.h"
#include "kernels/hashmap/hash_map.h"
#include "kernels/hashmap/map_device.cuh"

namespace strata {
namespace {

__global__ void Find(MapRef map, const uint64_t* keys, uint64_t count, float* out, bool* found) {
  const uint64_t i = ThreadNumber();
  const uint64_t place = i < count ? FindPlace(map, keys[i]) : kNowhere;
  if (i < count) found[i] = place != kNowhere;
  CopyFloats(place == kNowhere ? nullptr : map.ValueOf(place), out + i * map.dim, map.dim);
}

__global__ void LookUp(MapRef map, const uint64_t* keys, uint64_t count, RowStart start, float* out,
                       unsigned long long* hits) {
  const uint64_t i = ThreadNumber();
  const uint64_t key = i < count ? keys[i] : 0;
  const uint64_t place = i < count ? FindPlace(map, key) : kNowhere;
  CopyFloats(place == kNowhere ? nullptr : map.ValueOf(place), out + i * map.dim, map.dim);
  CountLanes(place != kNowhere, hits);
  uint32_t missing = __ballot_sync(~0U, i < count && place == kNowhere);
  while (missing != 0) {
    const int owner = __ffs(static_cast<int>(missing)) - 1;
    missing &= missing - 1;
    const uint64_t of_row = __shfl_sync(~0U, key, owner);
    float* row = out + (i - Lane() + static_cast<uint32_t>(owner)) * map.dim;
    for (uint32_t e = Lane(); e < map.dim; e += 32) {
      row[e] = InitialElement(start.initializer, start.seed, of_row, e);
    }
  }
}

__global__ void Locate(MapRef map, const uint64_t* keys, uint64_t count, uint64_t* places) {
  const uint64_t i = ThreadNumber();
  if (i < count) places[i] = FindPlace(map, keys[i]);
}

}  // namespace

void FindRows(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys, float* out,
              bool* found) {
  if (keys.empty()) return;
  Find<<<BlocksFor(keys.size()), kMapThreads, 0, static_cast<cudaStream_t>(exec.stream)>>>(
      map, keys.data(), keys.size(), out, found);
}

void LookUpRows(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
                const RowStart& start, float* out, unsigned long long* hits) {
  if (keys.empty()) return;
  LookUp<<<BlocksFor(keys.size()), kMapThreads, 0, static_cast<cudaStream_t>(exec.stream)>>>(
      map, keys.data(), keys.size(), start, out, hits);
}

void LocateRows(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
                uint64_t* places) {
  if (keys.empty()) return;
  Locate<<<BlocksFor(keys.size()), kMapThreads, 0, static_cast<cudaStream_t>(exec.stream)>>>(
      map, keys.data(), keys.size(), places);
}

}  // namespace strata
