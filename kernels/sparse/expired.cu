#include <cuda_runtime.h>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/hashmap/row_device.cuh"
#include "kernels/sparse/expired.h"

namespace strata {
namespace {

__global__ void List(MapRef map, const uint64_t* places, uint32_t count, uint64_t alive_from,
                     MissList expired) {
  const uint64_t j = ThreadNumber();
  const uint64_t place = j < count ? places[j] : kNowhere;
  const bool is_one = place != kNowhere && HasExpired(map.HeaderOf(place)->last_step, alive_from);
  const uint32_t at = PlaceInList(is_one, expired.count);
  if (is_one) expired.positions[at] = static_cast<uint32_t>(j);
}

// A warp a row.
__global__ void Begin(MapRef map, DistinctKeys distinct, const uint32_t* numbers, uint64_t count,
                      const uint32_t* pushes, RowStart start) {
  const uint64_t n = ThreadNumber() / 32;
  if (n >= count || pushes[n] == 0) return;
  const uint32_t j = numbers[n];
  if (pushes[n] == kPassOver) {
    if (Lane() == 0) distinct.places[j] = kNowhere;
    return;
  }
  const uint64_t place = distinct.places[j];
  const uint64_t key = distinct.keys[j];
  auto* words = reinterpret_cast<uint32_t*>(map.RowOf(place));
  for (uint32_t word = Lane(); word < map.row_words; word += 32) {
    words[word] = StoredWord(map, word, [&](uint32_t e) {
      return e < map.dim ? InitialValueElement<true>(map, start, key, e) : start.state;
    });
  }
  if (Lane() != 0) return;
  SlotHeader& header = *map.HeaderOf(place);
  header.last_step = start.last_step;
  header.frequency = 0;
}

}  // namespace

void ListExpired(const Exec& exec, const MapRef& map, const DistinctKeys& distinct, uint32_t count,
                 uint64_t alive_from, const MissList& expired) {
  (void)cudaMemsetAsync(expired.count, 0, sizeof *expired.count, StreamOf(exec));
  if (count == 0) return;
  List<<<BlocksFor(count), kMapThreads, 0, StreamOf(exec)>>>(map, distinct.places, count,
                                                             alive_from, expired);
}

void BeginAnew(const Exec& exec, const MapRef& map, const DistinctKeys& distinct,
               std::span<const uint32_t> numbers, const uint32_t* pushes, const RowStart& start) {
  if (numbers.empty()) return;
  Begin<<<BlocksFor(numbers.size() * 32), kMapThreads, 0, StreamOf(exec)>>>(
      map, distinct, numbers.data(), numbers.size(), pushes, start);
}

}  // namespace strata
