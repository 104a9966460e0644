#include "kernels/core/initializer.h"
#include "kernels/hashmap/hash_map.h"
#include "kernels/hashmap/map_device.cuh"

namespace strata {
namespace {

// What InsertOrAssign does with the row of the batch's key i. Four values begin with element e;
// what lies behind the value is taken as it comes.
struct Assigned {
  const float* values;
  RowStart start;
  static constexpr bool kOverwrites = true;  // rows that exist, too

  __device__ float4 Four(const MapRef& map, uint64_t /*key*/, uint64_t i, uint32_t e) const {
    const float* row = values + i * map.dim;
    if (map.dim % 4 == 0) return *reinterpret_cast<const float4*>(row + e);
    const auto at = [&](uint32_t n) { return n < map.dim ? row[n] : 0.0F; };
    return {at(e), at(e + 1), at(e + 2), at(e + 3)};
  }
};

// What FindOrInsert does.
struct Copied {
  float* out;
  RowStart start;
  static constexpr bool kOverwrites = false;

  __device__ float4 Four(const MapRef& map, uint64_t key, uint64_t i, uint32_t e) const {
    float* row = out + i * map.dim;
    const auto at = [&](uint32_t n) {
      return n < map.dim ? InitialElement(start.initializer, start.seed, key, n) : 0.0F;
    };
    const float4 four = {at(e), at(e + 1), at(e + 2), at(e + 3)};
    if (map.dim % 4 == 0) {
      __stcs(reinterpret_cast<float4*>(row + e), four);
    } else {
      const float each[4] = {four.x, four.y, four.z, four.w};
      for (uint32_t n = e; n < e + 4 && n < map.dim; ++n) row[n] = each[n - e];
    }
    return four;
  }
};

constexpr uint32_t kHeaderUnits = sizeof(SlotHeader) / sizeof(uint4);

// Each lane brings its key's place, kNowhere for none; the warp writes all those slots as a whole:
// key, counters, value, state.
template <typename Action>
__device__ void WriteSlots(const MapRef& map, const Action& action, uint64_t place, uint64_t key,
                           uint64_t i) {
  const RowStart& start = action.start;
  const uint32_t units = map.slot_bytes / sizeof(uint4);
  Walk walk(units);
#pragma unroll 4
  for (uint32_t step = 0; step < units; ++step, walk.Next()) {
    const auto owner = static_cast<int>(walk.owner() % 32);
    const uint64_t at = __shfl_sync(~0U, place, owner);
    const uint64_t of_row = __shfl_sync(~0U, key, owner);
    const uint64_t position = __shfl_sync(~0U, i, owner);
    if (at == kNowhere) continue;
    auto* slot = reinterpret_cast<float4*>(map.Slot(at));
    if (walk.unit() < kHeaderUnits) {
      const ulonglong2 half = walk.unit() == 0
                                  ? ulonglong2{of_row, start.last_step}
                                  : ulonglong2{start.score, uint64_t{start.checkpoint_epoch} << 32};
      reinterpret_cast<ulonglong2*>(slot)[walk.unit()] = half;
      continue;
    }
    const uint32_t e = 4 * (walk.unit() - kHeaderUnits);
    float4 four = {start.state, start.state, start.state, start.state};
    if (e < map.dim) {
      four = action.Four(map, of_row, position, e);
      if (e + 3 >= map.dim) four.w = start.state;
      if (e + 2 >= map.dim) four.z = start.state;
      if (e + 1 >= map.dim) four.y = start.state;
    }
    slot[walk.unit()] = four;
  }
}

template <typename Action>
__global__ void OnExisting(MapRef map, const uint64_t* keys, uint64_t count, Action action,
                           MissList misses) {
  const uint64_t i = ThreadNumber();
  const uint64_t key = i < count ? keys[i] : 0;
  const uint64_t place = i < count ? FindPlace(map, key) : kNowhere;
  const bool missing = i < count && place == kNowhere;
  const uint32_t all_missing = __ballot_sync(~0U, missing);
  uint32_t first = 0;
  if (Lane() == 0 && all_missing != 0) {
    first = atomicAdd(misses.count, static_cast<uint32_t>(__popc(all_missing)));
  }
  first = __shfl_sync(~0U, first, 0);
  if (missing) {
    const uint32_t before = all_missing & ((1U << Lane()) - 1);
    misses.positions[first + static_cast<uint32_t>(__popc(before))] = static_cast<uint32_t>(i);
  }
  if constexpr (Action::kOverwrites) {
    WriteSlots(map, action, place, key, i);
  } else {
    if (place != kNowhere) map.HeaderOf(place)->score = action.start.score;
    CopyFloats(place == kNowhere ? nullptr : map.ValueOf(place), action.out + i * map.dim, map.dim);
  }
}

// Where rows go that had to make room: each lane brings the place of its own, kNowhere for none.
// The slots' digests become those of who takes them.
__device__ void HandOut(const MapRef& map, uint64_t place, uint64_t score, uint32_t digest,
                        const RowList& victims) {
  const uint32_t width = map.dim + map.state_width;
  float* row = nullptr;
  if (place != kNowhere) {
    const uint32_t at = NextOf(victims.count);
    SlotHeader header = *map.HeaderOf(place);
    header.score = score;
    victims.headers[at] = header;
    uint32_t* word = LineWord(map, place);
    const uint32_t before = *word >> WordShift(place) & 0xffU;
    atomicXor(word, (before ^ digest) << WordShift(place));
    row = victims.rows + uint64_t{at} * width;
  }
  __syncwarp();
  CopyFloats(place == kNowhere ? nullptr : map.ValueOf(place), row, width);
  __syncwarp();
}

template <typename Action>
__global__ void OnMissing(MapRef map, const uint64_t* keys, Action action, MissList misses,
                          RowList victims) {
  const uint64_t number = ThreadNumber();
  const uint32_t count = *misses.count;
  if (number - Lane() >= count) return;
  const bool is_one = number < count;
  const uint32_t i = is_one ? misses.positions[number] : 0;
  const uint64_t key = is_one ? keys[i] : 0;
  uint64_t place = is_one ? TakePlace(map, key) : kNowhere;
  const uint32_t made = __ballot_sync(~0U, place != kNowhere);
  if (Lane() == 0 && made != 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&map.counts->rows),
              static_cast<unsigned long long>(__popc(made)));
  }
  if (__ballot_sync(~0U, is_one && place == kNowhere) != 0) {
    uint64_t freed = kNowhere;
    uint64_t score = 0;
    if (is_one && place == kNowhere) {
      if (victims.count != nullptr) {
        freed = TakeVictim(map, MapRef::First(key), action.start.score, &score);
      }
      if (freed == kNowhere) CountOne(&map.counts->refused);
    }
    __syncwarp();
    if (victims.count != nullptr) {
      HandOut(map, freed, score, MapRef::DigestOf(MapRef::First(key)), victims);
    }
    if (freed != kNowhere) place = freed;
  }
  WriteSlots(map, action, place, key, i);
}

template <typename Action>
void Run(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys, const Action& action,
         const MissList& misses, const RowList& victims) {
  if (keys.empty()) return;
  const auto stream = static_cast<cudaStream_t>(exec.stream);
  const uint32_t blocks = BlocksFor(keys.size());
  (void)cudaMemsetAsync(misses.count, 0, sizeof *misses.count, stream);
  if (victims.count != nullptr) {
    (void)cudaMemsetAsync(victims.count, 0, sizeof *victims.count, stream);
  }
  OnExisting<<<blocks, kMapThreads, 0, stream>>>(map, keys.data(), keys.size(), action, misses);
  OnMissing<<<blocks, kMapThreads, 0, stream>>>(map, keys.data(), action, misses, victims);
}

}  // namespace

void InsertOrAssign(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
                    const float* values, const RowStart& start, const MissList& misses,
                    const RowList& victims) {
  Run(exec, map, keys, Assigned{values, start}, misses, victims);
}

void FindOrInsert(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
                  const RowStart& start, float* out, const MissList& misses,
                  const RowList& victims) {
  Run(exec, map, keys, Copied{out, start}, misses, victims);
}

}  // namespace strata
