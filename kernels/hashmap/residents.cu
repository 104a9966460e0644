#include <cub/device/device_radix_sort.cuh>

#include "kernels/core/cuda_stream.cuh"
#include "kernels/hashmap/residents.h"
#include "kernels/hashmap/row_device.cuh"
#include "strata/status.h"

namespace strata {
namespace {

constexpr uint32_t kStays = ~0U;  // a rank; no victim's
constexpr uint64_t kPairPlaces = 2 * kLineBytes;

// Lower goes first; of equals the clean one, which costs nothing.
__device__ uint32_t RankOf(const SlotHeader& header, uint64_t now, VictimOrder order) {
  const uint64_t age = now - (header.score >> kScoreTickShift);  // at least 1
  const auto dirty = static_cast<uint32_t>(header.score & kScoreDirty);
  if (order == VictimOrder::kLeastRecent) {
    constexpr uint64_t kAgeMax = (1U << 31) - 1;
    return static_cast<uint32_t>(kAgeMax - min(age, kAgeMax)) << 1 | dirty;
  }
  constexpr uint64_t kAgeMax = (1U << (kRankAgeBits - 1)) - 1;
  const uint32_t pushes = min(header.frequency, kRankPushesMax);
  return pushes << kRankAgeBits | static_cast<uint32_t>(kAgeMax - min(age, kAgeMax)) << 1 | dirty;
}

__global__ void Rank(MapRef map, uint64_t first_place, uint32_t places, uint64_t now,
                     VictimOrder order, uint32_t* ranks, uint32_t* slots, uint32_t* count) {
  const uint64_t i = ThreadNumber();
  bool may_go = false;
  if (i < places) {
    uint32_t rank = kStays;
    const uint64_t place = first_place + i;
    if (IsRow(map, place)) {
      const SlotHeader header = *map.HeaderOf(place);
      may_go = header.score >> kScoreTickShift < now;
      if (may_go) rank = RankOf(header, now, order);
    }
    ranks[i] = rank;
    slots[i] = static_cast<uint32_t>(i);
  }
  static_cast<void>(PlaceInList(may_go, count));
}

constexpr size_t kAlign = 256;
constexpr size_t Aligned(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

size_t SortBytes(size_t places) {
  size_t bytes = 0;
  (void)cub::DeviceRadixSort::SortPairs(nullptr, bytes, static_cast<const uint32_t*>(nullptr),
                                        static_cast<uint32_t*>(nullptr),
                                        static_cast<const uint32_t*>(nullptr),
                                        static_cast<uint32_t*>(nullptr), static_cast<int>(places));
  return bytes;
}

__device__ uint64_t PlaceIn(const WindowSlots& window, uint64_t i) {
  return i < window.count ? window.first + window.slots[i] : kNowhere;
}

__device__ uint64_t ScoreIn(const MapRef& map, uint64_t place) {
  return place == kNowhere ? 0 : map.HeaderOf(place)->score;
}

__global__ void CountFlags(MapRef map, WindowSlots window, WindowCounts* counts) {
  const uint64_t score = ScoreIn(map, PlaceIn(window, ThreadNumber()));
  static_cast<void>(PlaceInList((score & kScoreDirty) != 0, &counts->dirty));
  static_cast<void>(PlaceInList((score & kScoreCopied) != 0, &counts->copied));
}

__global__ void AppendDirty(MapRef map, WindowSlots window, RowList out) {
  const uint64_t place = PlaceIn(window, ThreadNumber());
  AppendRow(map, (ScoreIn(map, place) & kScoreDirty) != 0 ? place : kNowhere, out);
}

__global__ void AppendPending(MapRef map, WindowSlots window, RowList out) {
  AppendRow(map, TakePending(map, PlaceIn(window, ThreadNumber())), out);
}

__global__ void Remove(MapRef map, WindowSlots window) {
  const uint64_t place = PlaceIn(window, ThreadNumber());
  if (place != kNowhere) {
    atomicAnd(LineWord(map, place), ~(0xffU << WordShift(place)));
    map.HeaderOf(place)->score = kFreeScore;
  }
  const uint32_t gone = __popc(__ballot_sync(~0U, place != kNowhere));
  if (Lane() == 0 && gone != 0) atomicAdd(&map.counts->rows, ~0ULL * gone);
}

// The place, if the tier below does not know the row there; else kNowhere.
__device__ uint64_t UnknownAt(const MapRef& map, uint64_t place) {
  const bool is_one = IsRow(map, place) && (map.HeaderOf(place)->score & kScoreCopied) == 0;
  return is_one ? place : kNowhere;
}

__global__ void AppendUnknown(MapRef map, uint64_t first_place, uint64_t places, RowList out) {
  const uint64_t i = ThreadNumber();
  AppendRow(map, i < places ? UnknownAt(map, first_place + i) : kNowhere, out);
}

__global__ void SetKnown(MapRef map, uint64_t first_place, uint64_t places) {
  const uint64_t i = ThreadNumber();
  const uint64_t place = i < places ? UnknownAt(map, first_place + i) : kNowhere;
  if (place == kNowhere) return;
  uint64_t& score = map.HeaderOf(place)->score;
  score = (score | kScoreCopied) & ~kScoreDirty;
}

__global__ void MarkDirty(MapRef map, uint32_t since) {
  const uint64_t place = ThreadNumber();
  const uint64_t pair = place / kPairPlaces;
  if (pair >= map.pairs()) return;
  bool is_one = IsRow(map, place);
  if (is_one) {
    const SlotHeader& header = *map.HeaderOf(place);
    is_one = (header.score & kScoreDirty) != 0 && header.checkpoint_epoch >= since;
  }
  const uint32_t all = __ballot_sync(~0U, is_one);
  if (Lane() == 0) map.pending[pair] = all;
}

__device__ void TouchAt(const MapRef& map, uint64_t place, uint64_t tick) {
  uint64_t& score = map.HeaderOf(place)->score;
  constexpr uint64_t kFlags = kScoreCopied | kScoreDirty;
  if (score >> kScoreTickShift < tick) score = tick << kScoreTickShift | (score & kFlags);
}

__global__ void Touch(MapRef map, const uint64_t* places, uint64_t count, uint64_t tick) {
  const uint64_t i = ThreadNumber();
  if (i < count && places[i] != kNowhere) TouchAt(map, places[i], tick);
}

__global__ void Copied(MapRef map, const uint64_t* places, uint64_t count, uint32_t* copied) {
  const uint64_t i = ThreadNumber();
  const uint64_t place = i < count ? places[i] : kNowhere;
  static_cast<void>(
      PlaceInList(place != kNowhere && (map.HeaderOf(place)->score & kScoreCopied) != 0, copied));
}

__device__ void List(bool is_missing, uint64_t i, uint64_t key, const MissList& missing,
                     uint64_t* missing_keys) {
  const uint32_t at = PlaceInList(is_missing, missing.count);
  if (!is_missing) return;
  missing.positions[at] = static_cast<uint32_t>(i);
  missing_keys[at] = key;
}

__global__ void Missing(const uint64_t* places, const uint64_t* keys, uint64_t count,
                        MissList missing, uint64_t* missing_keys) {
  const uint64_t i = ThreadNumber();
  const bool is_missing = i < count && places[i] == kNowhere;
  List(is_missing, i, is_missing ? keys[i] : 0, missing, missing_keys);
}

// Whether a lookup counts the row at the place as its key's.
template <bool kMayExpire>
__device__ bool IsHit(const MapRef& map, uint64_t place, uint64_t alive_from) {
  if (place == kNowhere) return false;
  return !kMayExpire || !HasExpired(map.HeaderOf(place)->last_step, alive_from);
}

// Each lane brings the place of its key's row; the warp writes all values.
template <bool kNarrow, bool kMayExpire>
__device__ void WriteFound(const MapRef& map, const RowStart& start, uint64_t key, uint64_t place,
                           bool is_hit, float* to) {
  CopyValues<kNarrow>(map, is_hit ? map.RowOf(place) : nullptr, to);
  if constexpr (kMayExpire) {
    WriteInitial<kNarrow>(map, start, place != kNowhere && !is_hit, key, to);
  }
}

// kMayExpire false: no row has expired, and a lookup's registers are its own.
template <bool kNarrow, bool kMayExpire>
__global__ void LookUp(MapRef map, const uint64_t* keys, uint64_t count, uint64_t tick,
                       RowStart start, uint64_t alive_from, float* out, MissList missing,
                       uint64_t* missing_keys, unsigned long long* hits) {
  const uint64_t i = ThreadNumber();
  const uint64_t key = i < count ? keys[i] : 0;
  const uint64_t place = i < count ? FindPlace(map, key) : kNowhere;
  const bool is_hit = IsHit<kMayExpire>(map, place, alive_from);
  if (place != kNowhere) TouchAt(map, place, tick);
  List(i < count && place == kNowhere, i, key, missing, missing_keys);
  if (out != nullptr) {
    WriteFound<kNarrow, kMayExpire>(map, start, key, place, is_hit, out + i * map.dim);
  }
  CountLanes(is_hit, hits);
}

template <bool kMayExpire>
__global__ void __launch_bounds__(kMapThreads)
    Find(MapRef map, const uint64_t* keys, uint64_t count, uint64_t tick, uint64_t alive_from,
         uint64_t* places, MissList missing, uint64_t* missing_keys, unsigned long long* hits) {
  // Counted by block first: all blocks have the same two counters.
  __shared__ uint32_t missing_here;
  __shared__ unsigned long long hits_here;
  __shared__ uint32_t first;
  if (threadIdx.x == 0) {
    missing_here = 0;
    hits_here = 0;
  }
  __syncthreads();
  const uint64_t i = ThreadNumber();
  const uint64_t key = i < count ? keys[i] : 0;
  const uint64_t place = i < count ? FindPlace(map, key) : kNowhere;
  if (place != kNowhere) TouchAt(map, place, tick);
  if (i < count) places[i] = place;
  const bool is_missing = i < count && place == kNowhere;
  const uint32_t at = PlaceInList(is_missing, &missing_here);
  CountLanes(IsHit<kMayExpire>(map, place, alive_from), &hits_here);
  __syncthreads();
  if (threadIdx.x == 0) {
    first = missing_here == 0 ? 0 : atomicAdd(missing.count, missing_here);
    if (hits_here != 0) atomicAdd(hits, hits_here);
  }
  __syncthreads();
  if (!is_missing) return;
  missing.positions[first + at] = static_cast<uint32_t>(i);
  missing_keys[first + at] = key;
}

template <bool kNarrow, bool kMayExpire>
__global__ void CopyFound(MapRef map, const uint64_t* keys, const uint64_t* places, uint64_t count,
                          RowStart start, uint64_t alive_from, float* out) {
  const uint64_t i = ThreadNumber();
  const uint64_t key = kMayExpire && i < count ? keys[i] : 0;
  const uint64_t place = i < count ? places[i] : kNowhere;
  WriteFound<kNarrow, kMayExpire>(map, start, key, place, IsHit<kMayExpire>(map, place, alive_from),
                                  out + i * map.dim);
}

void Clear(const Exec& exec, uint32_t* count) {
  (void)cudaMemsetAsync(count, 0, sizeof *count, StreamOf(exec));
}

}  // namespace

size_t ListVictimsScratchBytes(uint64_t pairs) {
  const size_t places = pairs * kPairPlaces;
  return 2 * Aligned(places * sizeof(uint32_t)) + SortBytes(places);
}

void ListVictims(const Exec& exec, const MapRef& map, uint64_t first, uint64_t pairs, uint64_t now,
                 VictimOrder order, const VictimList& list, std::span<std::byte> scratch) {
  Clear(exec, list.count);
  if (pairs == 0) return;
  const uint64_t places = pairs * kPairPlaces;
  STRATA_CHECK(places <= uint64_t{1} << 31 && scratch.size() >= ListVictimsScratchBytes(pairs));
  auto* ranks = reinterpret_cast<uint32_t*>(scratch.data());
  auto* slots = reinterpret_cast<uint32_t*>(scratch.data() + Aligned(places * sizeof(uint32_t)));
  std::byte* sort = scratch.data() + 2 * Aligned(places * sizeof(uint32_t));
  Rank<<<BlocksFor(places), kMapThreads, 0, StreamOf(exec)>>>(map, first * kPairPlaces,
                                                              static_cast<uint32_t>(places), now,
                                                              order, ranks, slots, list.count);
  size_t bytes = SortBytes(places);
  (void)cub::DeviceRadixSort::SortPairs(sort, bytes, static_cast<const uint32_t*>(ranks),
                                        list.ranks, static_cast<const uint32_t*>(slots), list.slots,
                                        static_cast<int>(places), 0, 32, StreamOf(exec));
}

void CountRows(const Exec& exec, const MapRef& map, const WindowSlots& window,
               WindowCounts* counts) {
  if (window.count == 0) return;
  CountFlags<<<BlocksFor(window.count), kMapThreads, 0, StreamOf(exec)>>>(map, window, counts);
}

void CopyOutDirty(const Exec& exec, const MapRef& map, const WindowSlots& window,
                  const RowList& out) {
  Clear(exec, out.count);
  if (window.count == 0) return;
  AppendDirty<<<BlocksFor(window.count), kMapThreads, 0, StreamOf(exec)>>>(map, window, out);
}

void TakePendingAt(const Exec& exec, const MapRef& map, const WindowSlots& window,
                   const RowList& out) {
  Clear(exec, out.count);
  if (window.count == 0) return;
  AppendPending<<<BlocksFor(window.count), kMapThreads, 0, StreamOf(exec)>>>(map, window, out);
}

void RemoveRows(const Exec& exec, const MapRef& map, const WindowSlots& window) {
  if (window.count == 0) return;
  Remove<<<BlocksFor(window.count), kMapThreads, 0, StreamOf(exec)>>>(map, window);
}

void CopyOutUnknown(const Exec& exec, const MapRef& map, uint64_t first, uint64_t pairs,
                    const RowList& out) {
  Clear(exec, out.count);
  if (pairs == 0) return;
  const uint64_t places = pairs * kPairPlaces;
  AppendUnknown<<<BlocksFor(places), kMapThreads, 0, StreamOf(exec)>>>(map, first * kPairPlaces,
                                                                       places, out);
}

void MarkKnown(const Exec& exec, const MapRef& map, uint64_t first, uint64_t pairs) {
  if (pairs == 0) return;
  const uint64_t places = pairs * kPairPlaces;
  SetKnown<<<BlocksFor(places), kMapThreads, 0, StreamOf(exec)>>>(map, first * kPairPlaces, places);
}

void MarkPendingDirty(const Exec& exec, const MapRef& map, uint32_t since) {
  MarkDirty<<<BlocksFor(map.pairs() * kPairPlaces), kMapThreads, 0, StreamOf(exec)>>>(map, since);
}

void TouchRows(const Exec& exec, const MapRef& map, std::span<const uint64_t> places,
               uint64_t tick) {
  if (places.empty()) return;
  Touch<<<BlocksFor(places.size()), kMapThreads, 0, StreamOf(exec)>>>(map, places.data(),
                                                                      places.size(), tick);
}

void CountCopied(const Exec& exec, const MapRef& map, std::span<const uint64_t> places,
                 uint32_t* count) {
  if (places.empty()) return;
  Copied<<<BlocksFor(places.size()), kMapThreads, 0, StreamOf(exec)>>>(map, places.data(),
                                                                       places.size(), count);
}

void ListMissing(const Exec& exec, std::span<const uint64_t> places, const uint64_t* keys,
                 const MissList& missing, uint64_t* missing_keys) {
  Clear(exec, missing.count);
  if (places.empty()) return;
  Missing<<<BlocksFor(places.size()), kMapThreads, 0, StreamOf(exec)>>>(
      places.data(), keys, places.size(), missing, missing_keys);
}

void LookUpResidents(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
                     uint64_t tick, const RowStart& start, uint64_t alive_from, float* out,
                     const MissList& missing, uint64_t* missing_keys, unsigned long long* hits) {
  Clear(exec, missing.count);
  if (keys.empty()) return;
  WithNarrow(map.IsNarrow(), [&](auto narrow) {
    const auto look_up = alive_from == 0 ? LookUp<narrow.value, false> : LookUp<narrow.value, true>;
    look_up<<<BlocksFor(keys.size()), kMapThreads, 0, StreamOf(exec)>>>(
        map, keys.data(), keys.size(), tick, start, alive_from, out, missing, missing_keys, hits);
  });
}

void FindResidents(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
                   uint64_t tick, uint64_t alive_from, uint64_t* places, const MissList& missing,
                   uint64_t* missing_keys, unsigned long long* hits) {
  Clear(exec, missing.count);
  if (keys.empty()) return;
  const auto find = alive_from == 0 ? Find<false> : Find<true>;
  find<<<BlocksFor(keys.size()), kMapThreads, 0, StreamOf(exec)>>>(
      map, keys.data(), keys.size(), tick, alive_from, places, missing, missing_keys, hits);
}

void CopyResidents(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
                   const uint64_t* places, const RowStart& start, uint64_t alive_from, float* out) {
  if (keys.empty()) return;
  WithNarrow(map.IsNarrow(), [&](auto narrow) {
    const auto copy =
        alive_from == 0 ? CopyFound<narrow.value, false> : CopyFound<narrow.value, true>;
    copy<<<BlocksFor(keys.size()), kMapThreads, 0, StreamOf(exec)>>>(
        map, keys.data(), places, keys.size(), start, alive_from, out);
  });
}

}  // namespace strata
