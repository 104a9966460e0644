// The operations of the hash map in a GPU's memory. All pointers and spans are device memory; calls
// enqueue kernels on exec.stream and return. Nothing is allocated, nothing synchronises. One stream
// at a time.
//
// Keys of a call that changes the map are distinct; those of a call that only reads may repeat.
// Batches have at most 2^32 - 1 keys, maps any number of slots.
//
// A call that makes rows is two kernels: the first works on the rows that exist and lists the keys
// that have none, the second takes places for those. So nothing is locked: while keys are compared
// no slot changes hands, and while slots do no key is compared.
#pragma once

#include <cstdint>
#include <span>

#include "strata/exec.h"
#include "strata/gpu/map_ref.h"
#include "strata/initializer_spec.h"

namespace strata {

// Positions of a batch's keys that have no row.
struct MissList {
  uint32_t* positions = nullptr;  // room for the whole batch
  uint32_t* count = nullptr;
};

// Rows that come out, one behind the other in no promised order.
struct RowList {
  SlotHeader* headers = nullptr;
  float* rows = nullptr;  // as they are stored: x row_words
  uint32_t* count = nullptr;
};

// What becomes of a key that has no row where all that it may take is full.
struct WhenFull {
  // The row of the lowest score below RowStart::score among five of its bucket makes room. Else,
  // and where there is none, the key is counted as refused.
  bool evicts = false;
  // Where rows go that made room, with room for the whole batch. Without a count: they are lost.
  RowList victims;
};

// What rows that are made begin with.
struct RowStart {
  InitializerSpec initializer;
  uint64_t seed = 0;
  float state = 0.0F;  // all elements of it
  uint32_t checkpoint_epoch = 0;
  uint64_t last_step = 0;
  uint64_t score = 0;
};

// out: keys x dim, row by row, untouched where found[i] is false.
void FindRows(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys, float* out,
              bool* found);

// places[i]: the slot of keys[i], kNowhere: there is none.
void LocateRows(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
                uint64_t* places);

// The row of keys[i] is row positions[i] of `values` (positions null: row i), dim elements each.
// Optimizer state and counters restart.
void InsertOrAssign(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
                    const float* values, const uint32_t* positions, const RowStart& start,
                    const MissList& misses, const WhenFull& when_full = {});

// `count` whole rows as they are stored, with their headers, which say whose they are: row i is at
// positions[i] of both (null: at i).
void LoadRows(const Exec& exec, const MapRef& map, const SlotHeader* headers, const float* rows,
              const uint32_t* positions, uint64_t count, const MissList& misses);

// The same for keys that have no row, of which none is there twice. There is room for them.
void AddRows(const Exec& exec, const MapRef& map, const SlotHeader* headers, const float* rows,
             uint64_t count);

// The same, and keys that have a row keep it as it is. *misses.count: how many had none.
void AddNewRows(const Exec& exec, const MapRef& map, const SlotHeader* headers, const float* rows,
                uint64_t count, const MissList& misses);

// Rows that are missing are made with their initial value. out: keys x dim, what the rows hold.
void FindOrInsert(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
                  const RowStart& start, float* out, const MissList& misses,
                  const WhenFull& when_full = {});

// Keys may repeat, and need not be there. Those that were go to `erased`, once each, as many as
// *erased_count grows by; null: nobody asks.
void EraseRows(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
               uint64_t* erased = nullptr, uint32_t* erased_count = nullptr);

// Splits the next `count` pairs of map.level, from map.split on. Memory for map.pairs() + count
// pairs is there, lines and slots as they begin. The caller advances the reference (Advance)
// behind it.
void SplitPairs(const Exec& exec, const MapRef& map, uint64_t count);
void Advance(MapRef* map, uint64_t count);

// Sets the marks of all lines as the rows that there are need them.
void SweepMarks(const Exec& exec, const MapRef& map);

// Copies out the rows that live at these places of a map (any slot numbers, also free ones).
void CopyOut(const Exec& exec, const MapRef& map, std::span<const uint64_t> places,
             const RowList& out);

// Snapshots: rows that are pending are taken once each, before anything writes to them.
//
// All rows of checkpoint epoch `since` or later are pending.
void MarkPending(const Exec& exec, const MapRef& map, uint32_t since);
// Those of the pairs from `first` on. `out` has room for kPairSlots rows a pair.
void TakePending(const Exec& exec, const MapRef& map, uint64_t first, uint64_t count,
                 const RowList& out);
// Those of these keys, which may repeat.
void TakePendingOf(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
                   const RowList& out);

}  // namespace strata
