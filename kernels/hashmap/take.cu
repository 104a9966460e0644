// Rows out: by place, and those that a snapshot has still to take.
#include "kernels/core/cuda_stream.cuh"
#include "kernels/hashmap/map_device.cuh"
#include "strata/gpu/hash_map.h"

namespace strata {
namespace {

__global__ void AppendPlaces(MapRef map, const uint64_t* places, uint64_t count, RowList out) {
  const uint64_t i = ThreadNumber();
  uint64_t place = i < count ? places[i] : kNowhere;
  if (place != kNowhere && !IsRow(map, place)) place = kNowhere;
  AppendRow(map, place, out);
}

// A warp a pair, a lane a slot, as below.
__global__ void Mark(MapRef map, uint32_t since) {
  const uint64_t place = ThreadNumber();
  const uint64_t pair = place / 32;
  if (pair >= map.pairs()) return;
  const bool is_one =
      IsRow(map, place) && (since == 0 || map.HeaderOf(place)->checkpoint_epoch >= since);
  const uint32_t all = __ballot_sync(~0U, is_one);
  if (Lane() == 0) map.pending[pair] = all;
}

__global__ void Take(MapRef map, uint64_t first, uint64_t count, RowList out) {
  const uint64_t number = ThreadNumber() / 32;
  if (number >= count) return;
  const uint64_t pair = first + number;
  const uint32_t all = map.pending[pair];
  AppendRow(map, (all >> Lane() & 1) != 0 ? pair * 32 + Lane() : kNowhere, out);
  if (Lane() == 0) map.pending[pair] = 0;
}

__global__ void TakeOf(MapRef map, const uint64_t* keys, uint64_t count, RowList out) {
  const uint64_t i = ThreadNumber();
  const uint64_t place = i < count ? FindPlace(map, keys[i]) : kNowhere;
  AppendRow(map, TakePending(map, place), out);
}

void Clear(uint32_t* count, cudaStream_t stream) {
  (void)cudaMemsetAsync(count, 0, sizeof *count, stream);
}

}  // namespace

void CopyOut(const Exec& exec, const MapRef& map, std::span<const uint64_t> places,
             const RowList& out) {
  const auto stream = StreamOf(exec);
  Clear(out.count, stream);
  if (places.empty()) return;
  AppendPlaces<<<BlocksFor(places.size()), kMapThreads, 0, stream>>>(map, places.data(),
                                                                     places.size(), out);
}

void MarkPending(const Exec& exec, const MapRef& map, uint32_t since) {
  Mark<<<BlocksFor(map.pairs() * 32), kMapThreads, 0, StreamOf(exec)>>>(map, since);
}

void TakePending(const Exec& exec, const MapRef& map, uint64_t first, uint64_t count,
                 const RowList& out) {
  const auto stream = StreamOf(exec);
  Clear(out.count, stream);
  if (count == 0) return;
  Take<<<BlocksFor(count * 32), kMapThreads, 0, stream>>>(map, first, count, out);
}

void TakePendingOf(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
                   const RowList& out) {
  const auto stream = StreamOf(exec);
  Clear(out.count, stream);
  if (keys.empty()) return;
  TakeOf<<<BlocksFor(keys.size()), kMapThreads, 0, stream>>>(map, keys.data(), keys.size(), out);
}

}  // namespace strata
