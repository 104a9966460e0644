#include "kernels/core/cuda_stream.cuh"
#include "kernels/hashmap/row_device.cuh"
#include "strata/gpu/hash_map.h"

namespace strata {
namespace {

template <bool kNarrow>
__global__ void Find(MapRef map, const uint64_t* keys, uint64_t count, float* out, bool* found) {
  const uint64_t i = ThreadNumber();
  const uint64_t place = i < count ? FindPlace(map, keys[i]) : kNowhere;
  if (i < count) found[i] = place != kNowhere;
  CopyValues<kNarrow>(map, place == kNowhere ? nullptr : map.RowOf(place), out + i * map.dim);
}

__global__ void Locate(MapRef map, const uint64_t* keys, uint64_t count, uint64_t* places) {
  const uint64_t i = ThreadNumber();
  if (i < count) places[i] = FindPlace(map, keys[i]);
}

}  // namespace

void FindRows(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys, float* out,
              bool* found) {
  if (keys.empty()) return;
  const auto stream = StreamOf(exec);
  WithNarrow(map.IsNarrow(), [&](auto narrow) {
    Find<narrow.value><<<BlocksFor(keys.size()), kMapThreads, 0, stream>>>(map, keys.data(),
                                                                           keys.size(), out, found);
  });
}

void LocateRows(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
                uint64_t* places) {
  if (keys.empty()) return;
  Locate<<<BlocksFor(keys.size()), kMapThreads, 0, StreamOf(exec)>>>(map, keys.data(), keys.size(),
                                                                     places);
}

}  // namespace strata
