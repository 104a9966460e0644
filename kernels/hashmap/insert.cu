#include "kernels/core/cuda_stream.cuh"
#include "kernels/hashmap/row_device.cuh"
#include "strata/gpu/hash_map.h"

namespace strata {
namespace {

constexpr uint32_t kHeaderUnits = sizeof(SlotHeader) / sizeof(uint4);

__device__ SlotHeader HeaderOfNew(const RowStart& start, uint64_t key) {
  return {.key = key,
          .last_step = start.last_step,
          .score = start.score,
          .frequency = 0,
          .checkpoint_epoch = start.checkpoint_epoch};
}

// The four elements from `e` on of a row of `floats`; behind its end `rest`.
__device__ float4 FourOf(const float* row, uint32_t floats, uint32_t e, float rest) {
  if (floats % 4 == 0 && e < floats) return *reinterpret_cast<const float4*>(row + e);
  const auto at = [&](uint32_t n) { return n < floats ? row[n] : rest; };
  return {at(e), at(e + 1), at(e + 2), at(e + 3)};
}

// A half of a header as it is stored.
__device__ float4 HeaderFour(const SlotHeader& header, uint32_t unit) {
  const auto low = [](uint64_t x) { return __uint_as_float(static_cast<uint32_t>(x)); };
  const auto high = [](uint64_t x) { return __uint_as_float(static_cast<uint32_t>(x >> 32)); };
  if (unit == 0) {
    return {low(header.key), high(header.key), low(header.last_step), high(header.last_step)};
  }
  return {low(header.score), high(header.score), __uint_as_float(header.frequency),
          __uint_as_float(header.checkpoint_epoch)};
}

// Each lane brings its key's place, kNowhere for none; the warp writes all those slots as a whole:
// header, value, state. kExist: what is there is a row.
template <bool kExist, typename Action>
__device__ void WriteSlots(const MapRef& map, const Action& action, uint64_t place, uint64_t key,
                           uint64_t i) {
  const uint32_t units = map.slot_bytes / sizeof(uint4);
  Walk walk(units);
  for (uint32_t step = 0; step < units; step += kStepsAtOnce) {
    float4* to[kStepsAtOnce];
    float4 fours[kStepsAtOnce];
#pragma unroll
    for (uint32_t n = 0; n < kStepsAtOnce; ++n, walk.Next()) {
      const auto owner = static_cast<int>(walk.owner() % 32);
      const uint64_t at = __shfl_sync(~0U, place, owner);
      const uint64_t of_row = __shfl_sync(~0U, key, owner);
      const uint64_t position = __shfl_sync(~0U, i, owner);
      to[n] = nullptr;
      if (step + n >= units || at == kNowhere) continue;
      to[n] = reinterpret_cast<float4*>(map.Slot(at)) + walk.unit();
      if (walk.unit() < kHeaderUnits) {
        SlotHeader header = action.Header(of_row, position);
        if (kExist && map.score_kept != 0 && walk.unit() == 1) {
          header.score |= map.HeaderOf(at)->score & map.score_kept;
        }
        fours[n] = HeaderFour(header, walk.unit());
      } else {
        fours[n] = action.Four(map, of_row, position, 4 * (walk.unit() - kHeaderUnits));
      }
    }
#pragma unroll
    for (uint32_t n = 0; n < kStepsAtOnce; ++n) {
      if (to[n] != nullptr) __stcs(to[n], fours[n]);  // nobody reads it soon
    }
  }
}

// What the calls do with the row of the batch's key i, which is Key(i). Found: with one that exists
// (a warp's lanes together, kNowhere where a lane has none). Header and Four: what one that is made
// holds.

template <bool kNarrow>
struct Assigned {
  const uint64_t* keys;
  const float* values;
  const uint32_t* positions;  // of the keys' values; null: their own
  RowStart start;

  __device__ uint64_t Key(uint64_t i) const { return keys[i]; }
  __device__ void Found(const MapRef& map, uint64_t place, uint64_t key, uint64_t i) const {
    WriteSlots<true>(map, *this, place, key, i);
  }
  __device__ SlotHeader Header(uint64_t key, uint64_t) const { return HeaderOfNew(start, key); }
  __device__ float4 Four(const MapRef& map, uint64_t, uint64_t i, uint32_t e) const {
    const uint64_t from = positions == nullptr ? i : positions[i];
    const float* value = values + from * map.dim;
    if constexpr (kNarrow) {
      return StoredFour(map, e, [&](uint32_t n) { return n < map.dim ? value[n] : start.state; });
    }
    return FourOf(value, map.dim, e, start.state);
  }
};

struct Loaded {
  const SlotHeader* headers;
  const float* rows;
  const uint32_t* positions;
  RowStart start;

  __device__ uint64_t Key(uint64_t i) const { return headers[From(i)].key; }
  __device__ void Found(const MapRef& map, uint64_t place, uint64_t key, uint64_t i) const {
    WriteSlots<true>(map, *this, place, key, i);
  }
  __device__ uint64_t From(uint64_t i) const { return positions == nullptr ? i : positions[i]; }
  __device__ SlotHeader Header(uint64_t, uint64_t i) const { return headers[From(i)]; }
  __device__ float4 Four(const MapRef& map, uint64_t, uint64_t i, uint32_t e) const {
    return FourOf(rows + From(i) * map.row_words, map.row_words, e, 0.0F);
  }
};

struct LoadedIfNew : Loaded {
  __device__ void Found(const MapRef&, uint64_t, uint64_t, uint64_t) const {}
};

__device__ float4 InitialFour(const MapRef& map, const RowStart& start, uint64_t key, uint32_t e) {
  const auto at = [&](uint32_t n) {
    return n < map.dim ? InitialElement(start.initializer, start.seed, key, n) : start.state;
  };
  return {at(e), at(e + 1), at(e + 2), at(e + 3)};
}

template <bool kNarrow>
struct Copied {
  const uint64_t* keys;
  float* out;
  RowStart start;

  __device__ uint64_t Key(uint64_t i) const { return keys[i]; }
  __device__ void Found(const MapRef& map, uint64_t place, uint64_t, uint64_t i) const {
    if (place != kNowhere) map.HeaderOf(place)->score = start.score;
    CopyValues<kNarrow>(map, place == kNowhere ? nullptr : map.RowOf(place), out + i * map.dim);
  }
  __device__ SlotHeader Header(uint64_t key, uint64_t) const { return HeaderOfNew(start, key); }
  __device__ float4 Four(const MapRef& map, uint64_t key, uint64_t i, uint32_t e) const {
    float* row = out + i * map.dim;
    if constexpr (kNarrow) {
      return StoredFour(map, e, [&](uint32_t n) {
        return n < map.dim ? row[n] = InitialValueElement<true>(map, start, key, n) : start.state;
      });
    }
    const float4 four = InitialFour(map, start, key, e);
    if (map.dim % 4 == 0 && e < map.dim) {
      __stcs(reinterpret_cast<float4*>(row + e), four);
    } else {
      const float each[4] = {four.x, four.y, four.z, four.w};
      for (uint32_t n = e; n < e + 4 && n < map.dim; ++n) row[n] = each[n - e];
    }
    return four;
  }
};

template <typename Action>
__global__ void __launch_bounds__(kMapThreads)
    OnExisting(MapRef map, uint64_t count, Action action, MissList misses) {
  const uint64_t i = ThreadNumber();
  const bool is_one = i < count;
  const uint64_t key = is_one ? action.Key(i) : 0;
  const uint64_t place = is_one ? FindPlace(map, key) : kNowhere;
  const bool missing = is_one && place == kNowhere;
  const uint32_t at = PlaceInList(missing, misses.count);
  if (missing) misses.positions[at] = static_cast<uint32_t>(i);
  action.Found(map, place, key, i);
}

// The slot's digest becomes that of who takes it from another.
__device__ void SetDigest(const MapRef& map, uint64_t place, uint32_t digest) {
  uint32_t* word = LineWord(map, place);
  const uint32_t before = *word >> WordShift(place) & 0xffU;
  atomicXor(word, (before ^ digest) << WordShift(place));
}

// Rows that had to make room: each lane brings the place of its own, kNowhere for none.
__device__ void HandOut(const MapRef& map, uint64_t place, uint64_t score, const RowList& victims) {
  const uint32_t words = map.row_words;
  float* row = nullptr;
  const uint32_t at = PlaceInList(place != kNowhere, victims.count);
  if (place != kNowhere) {
    SlotHeader header = *map.HeaderOf(place);
    header.score = score;
    victims.headers[at] = header;
    row = victims.rows + uint64_t{at} * words;
  }
  __syncwarp();
  CopyFloats(place == kNowhere ? nullptr : map.RowOf(place), row, words);
  __syncwarp();
}

// Those of `count` keys that misses lists; all without a list.
template <typename Action>
__global__ void __launch_bounds__(kMapThreads)
    OnMissing(MapRef map, uint64_t count, Action action, MissList misses, WhenFull when_full) {
  const uint64_t number = ThreadNumber();
  if (misses.count != nullptr) count = *misses.count;
  if (number - Lane() >= count) return;
  const bool is_one = number < count;
  const uint64_t i = is_one && misses.positions != nullptr ? misses.positions[number] : number;
  const uint64_t key = is_one ? action.Key(i) : 0;
  uint64_t place = is_one ? TakePlace(map, key) : kNowhere;
  CountLanes(place != kNowhere, &map.counts->rows);
  if (__ballot_sync(~0U, is_one && place == kNowhere) != 0) {
    uint64_t freed = kNowhere;
    uint64_t score = 0;
    if (is_one && place == kNowhere && when_full.evicts) {
      freed = TakeVictim(map, map.First(key), action.start.score, &score);
    }
    CountLanes(is_one && place == kNowhere && freed == kNowhere, &map.counts->refused);
    if (when_full.victims.count != nullptr) HandOut(map, freed, score, when_full.victims);
    if (freed != kNowhere) {
      SetDigest(map, freed, MapRef::DigestOf(map.First(key)));
      place = freed;
    }
  }
  WriteSlots<false>(map, action, place, key, i);
}

template <typename Action>
void Run(const Exec& exec, const MapRef& map, uint64_t keys, const Action& action,
         const MissList& misses, const WhenFull& when_full) {
  if (keys == 0) return;
  const auto stream = StreamOf(exec);
  const uint32_t blocks = BlocksFor(keys);
  (void)cudaMemsetAsync(misses.count, 0, sizeof *misses.count, stream);
  if (uint32_t* victims = when_full.victims.count; victims != nullptr) {
    (void)cudaMemsetAsync(victims, 0, sizeof *victims, stream);
  }
  OnExisting<<<blocks, kMapThreads, 0, stream>>>(map, keys, action, misses);
  OnMissing<<<blocks, kMapThreads, 0, stream>>>(map, keys, action, misses, when_full);
}

}  // namespace

void InsertOrAssign(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
                    const float* values, const uint32_t* positions, const RowStart& start,
                    const MissList& misses, const WhenFull& when_full) {
  WithNarrow(map.IsNarrow(), [&](auto narrow) {
    const Assigned<narrow.value> action{keys.data(), values, positions, start};
    Run(exec, map, keys.size(), action, misses, when_full);
  });
}

void LoadRows(const Exec& exec, const MapRef& map, const SlotHeader* headers, const float* rows,
              const uint32_t* positions, uint64_t count, const MissList& misses) {
  Run(exec, map, count, Loaded{headers, rows, positions, RowStart{}}, misses, {});
}

void AddRows(const Exec& exec, const MapRef& map, const SlotHeader* headers, const float* rows,
             uint64_t count) {
  if (count == 0) return;
  OnMissing<<<BlocksFor(count), kMapThreads, 0, StreamOf(exec)>>>(
      map, count, Loaded{headers, rows, nullptr, RowStart{}}, MissList{}, WhenFull{});
}

void AddNewRows(const Exec& exec, const MapRef& map, const SlotHeader* headers, const float* rows,
                uint64_t count, const MissList& misses) {
  Run(exec, map, count, LoadedIfNew{{headers, rows, nullptr, RowStart{}}}, misses, {});
}

void FindOrInsert(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
                  const RowStart& start, float* out, const MissList& misses,
                  const WhenFull& when_full) {
  WithNarrow(map.IsNarrow(), [&](auto narrow) {
    Run(exec, map, keys.size(), Copied<narrow.value>{keys.data(), out, start}, misses, when_full);
  });
}

}  // namespace strata
