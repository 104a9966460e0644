#include "kernels/core/cuda_stream.cuh"
#include "kernels/hashmap/map_device.cuh"
#include "strata/gpu/hash_map.h"
#include "strata/status.h"

namespace strata {
namespace {

// A warp a pair: half a warp a bucket, a lane a slot, the last of each for the marks.
__global__ void Split(MapRef map, uint64_t count) {
  const uint64_t number = ThreadNumber() / 32;
  if (number >= count) return;
  const uint64_t pair = map.split + number;
  const uint64_t other = pair + (map.pairs_base << map.level);
  const uint32_t lane = Lane();
  const uint64_t from = pair * 2 * kLineBytes + lane;
  const uint64_t to = other * 2 * kLineBytes + lane;
  const uint8_t digest = map.lines[from];
  const bool is_slot = lane % kLineBytes != kBucketSlots;
  bool moves = false;
  if (is_slot && digest != 0) {
    // It came by the first of its hashes that names this pair.
    uint64_t hash = map.First(map.HeaderOf(from)->key);
    while (map.PairAt(hash, map.level) != pair) hash = MapRef::Next(hash);
    moves = map.PairAt(hash, map.level + 1) == other;
  }
  // Marks go along: keys that went on from here did so from either pair.
  map.lines[to] = moves || !is_slot ? digest : 0;
  if (moves) map.lines[from] = 0;
  const uint32_t all = __ballot_sync(~0U, moves);
  if (lane == 0) {
    const uint32_t pending = map.pending[pair];
    map.pending[other] = pending & all;
    map.pending[pair] = pending & ~all;
  }
  CopyRows(moves ? reinterpret_cast<const uint4*>(map.Slot(from)) : nullptr,
           reinterpret_cast<uint4*>(map.Slot(to)), map.slot_bytes / sizeof(uint4));
  __syncwarp();
  if (moves) map.HeaderOf(from)->score = kFreeScore;
}

__global__ void ClearMarks(MapRef map, uint64_t buckets) {
  const uint64_t bucket = ThreadNumber();
  if (bucket < buckets) map.lines[bucket * kLineBytes + kBucketSlots] = 0;
}

__global__ void SetMarks(MapRef map, uint64_t places) {
  const uint64_t place = ThreadNumber();
  if (place >= places || !IsRow(map, place)) return;
  const uint64_t home = place / kLineBytes;
  uint64_t hash = map.First(map.HeaderOf(place)->key);
  for (;;) {
    const uint64_t bucket = map.BucketOf(hash);
    if (bucket == home) return;
    SetMark(map, bucket, kMarkOther);
    if ((bucket ^ 1) == home) return;
    SetMark(map, bucket, kMarkBeyond);
    hash = MapRef::Next(hash);
  }
}

}  // namespace

void SweepMarks(const Exec& exec, const MapRef& map) {
  const auto stream = StreamOf(exec);
  const uint64_t buckets = 2 * map.pairs();
  ClearMarks<<<BlocksFor(buckets), kMapThreads, 0, stream>>>(map, buckets);
  SetMarks<<<BlocksFor(buckets * kLineBytes), kMapThreads, 0, stream>>>(map, buckets * kLineBytes);
}

void SplitPairs(const Exec& exec, const MapRef& map, uint64_t count) {
  if (count == 0) return;
  STRATA_CHECK(map.split + count <= map.pairs_base << map.level);
  Split<<<BlocksFor(count * 32), kMapThreads, 0, StreamOf(exec)>>>(map, count);
}

void Advance(MapRef* map, uint64_t count) {
  map->split += count;
  if (map->split == map->pairs_base << map->level) {
    ++map->level;
    map->split = 0;
  }
}

}  // namespace strata
