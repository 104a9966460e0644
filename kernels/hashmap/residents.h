// What a map needs that holds some of a table's rows, while a slower tier holds the others
// (HotTable): which rows go when there is no room, and how those that are not here are answered.
// All pointers and spans are device memory; calls enqueue kernels on exec.stream and return.
// Nothing is allocated, nothing synchronises.
//
// The scores of such a map say when a row was used last, and what the tier below knows of it:
//
//   | tick: 62 bits | copied: 1 | dirty: 1 |
//
// The tick counts operations. A row whose tick has not passed is locked: it does not go. No lock
// can be left behind, as time alone opens it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "strata/exec.h"
#include "strata/gpu/hash_map.h"
#include "strata/gpu/map_ref.h"

namespace strata {

constexpr uint64_t kScoreDirty = 1;   // the tier below has older bytes, or none
constexpr uint64_t kScoreCopied = 2;  // the tier below knows the key
constexpr uint32_t kScoreTickShift = 2;

enum class VictimOrder : uint8_t {
  kLeastRecent,  // used longest ago
  kLeastPushed,  // of the lowest frequency; of equals used longest ago
};

// Victims, the first to go at the front.
struct VictimList {
  uint32_t* slots = nullptr;  // slot number less that of the window's first one
  uint32_t* ranks = nullptr;  // by which they go: for kLeastPushed rank >> kRankAgeBits is the
                              // frequency, at most kRankPushesMax
  uint32_t* count = nullptr;
};
constexpr uint32_t kRankAgeBits = 10;
constexpr uint32_t kRankPushesMax = (1U << (32 - kRankAgeBits)) - 2;

// Ranks the rows of `pairs` pairs from `first` on whose tick is below `now`. The list has room for
// 2 * kLineBytes entries a pair, as has `scratch`: ListVictimsScratchBytes. At most 2^26 pairs.
void ListVictims(const Exec& exec, const MapRef& map, uint64_t first, uint64_t pairs, uint64_t now,
                 VictimOrder order, const VictimList& list, std::span<std::byte> scratch);
size_t ListVictimsScratchBytes(uint64_t pairs);

// Slots of a window as VictimList numbers them.
struct WindowSlots {
  uint64_t first = 0;  // the slot of number 0
  const uint32_t* slots = nullptr;
  uint32_t count = 0;
};

// Counts of rows of a window.
struct WindowCounts {
  uint32_t dirty = 0;
  uint32_t copied = 0;  // that the tier below knows
};
// *counts grows by what they are. Device memory.
void CountRows(const Exec& exec, const MapRef& map, const WindowSlots& window,
               WindowCounts* counts);
// The dirty rows among them come out.
void CopyOutDirty(const Exec& exec, const MapRef& map, const WindowSlots& window,
                  const RowList& out);
// Those that a snapshot has still to take come out, and have been taken.
void TakePendingAt(const Exec& exec, const MapRef& map, const WindowSlots& window,
                   const RowList& out);
// The rows of the window are gone.
void RemoveRows(const Exec& exec, const MapRef& map, const WindowSlots& window);

// The rows of these pairs whose key the tier below does not know come out. MarkKnown behind it: it
// knows them now, and has the same bytes.
void CopyOutUnknown(const Exec& exec, const MapRef& map, uint64_t first, uint64_t pairs,
                    const RowList& out);
void MarkKnown(const Exec& exec, const MapRef& map, uint64_t first, uint64_t pairs);

// MarkPending for the dirty rows alone.
void MarkPendingDirty(const Exec& exec, const MapRef& map, uint32_t since);

// The rows at these places (kNowhere: none) were used at `tick`.
void TouchRows(const Exec& exec, const MapRef& map, std::span<const uint64_t> places,
               uint64_t tick);
// *count grows by the rows at these places that the tier below knows.
void CountCopied(const Exec& exec, const MapRef& map, std::span<const uint64_t> places,
                 uint32_t* count);

// Lists the numbers i for which places[i] is kNowhere; their keys too, in the same order.
void ListMissing(const Exec& exec, std::span<const uint64_t> places, const uint64_t* keys,
                 const MissList& missing, uint64_t* missing_keys);

// Rows of keys that are here, row by row to `out` (null: nobody reads them), and used at `tick`;
// keys that are not are listed with their positions. *hits grows by those that are. A row that has
// expired by `alive_from` is here, but no hit, and its key's initial value as `start` has it goes
// to `out`: what lies below of that key may be older, and look as if it was alive.
void LookUpResidents(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
                     uint64_t tick, const RowStart& start, uint64_t alive_from, float* out,
                     const MissList& missing, uint64_t* missing_keys, unsigned long long* hits);

// The same in two halves, so that what is missing is known before the rows are copied: where the
// rows are (kNowhere: missing) to `places` ...
void FindResidents(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
                   uint64_t tick, uint64_t alive_from, uint64_t* places, const MissList& missing,
                   uint64_t* missing_keys, unsigned long long* hits);
// ... and these rows to `out`. None has moved or gone in between.
void CopyResidents(const Exec& exec, const MapRef& map, std::span<const uint64_t> keys,
                   const uint64_t* places, const RowStart& start, uint64_t alive_from, float* out);

}  // namespace strata
