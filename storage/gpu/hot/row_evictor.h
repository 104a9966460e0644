// RowEvictor: which rows of a hot table leave the GPU's memory, and how they do.
//
// Rows of low scores go: clean ones are dropped, dirty ones are written to the table below first. A
// row that carries the tick of this operation, or a later one, stays.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/hashmap/residents.h"
#include "storage/gpu/device_buffer.h"
#include "storage/gpu/device_map.h"
#include "storage/gpu/hot/lower_rows.h"
#include "storage/gpu/hot/resident_counts.h"
#include "storage/gpu/taken_rows.h"
#include "storage/memory/cut_history.h"

namespace strata {

// What the rest of the table gives an evictor, and which outlives it.
struct EvictorParts {
  const Exec& exec;
  const std::unique_ptr<DeviceMap>& map;
  TakenRows& taken;
  LowerRows& below;
  ResidentCounts& counts;
  const CutHistory& history;
};

// Not thread-safe.
class RowEvictor {
 public:
  // During a snapshot: takes what it has still to hold of these rows, which are about to go. The
  // list has room for them.
  using KeepForSnapshot = std::function<void(const WindowSlots& rows, const RowList& list)>;

  // `rows_at_once`: that go below in one piece, at most.
  RowEvictor(const EvictorParts& parts, VictimOrder order, uint32_t rows_at_once,
             KeepForSnapshot keep);

  // Takes the memory with which EvictAll can do its work, however little is left later. kRefused.
  Status Reserve();
  // So many rows go, or fewer where others may not. An error of the table below, or kRefused for
  // memory: some may have gone.
  Status Evict(uint64_t rows);
  // All rows go.
  Status EvictAll();
  // Where pairs were split or many rows have changed, marks of the map are set anew.
  void SweepIfStale();
  // The map is another one, and empty.
  void BeginAnew();

  // Of kLeastPushed: how often the rows were pushed that went last.
  uint32_t pushes_gone() const { return pushes_gone_; }

 private:
  // What kernels count.
  struct Counted {
    uint32_t victims;  // rows that may go
    WindowCounts window;
  };

  Status ReserveFor(uint64_t pairs);
  // Returns how many have gone: at most `most` of the window, none that is locked at `now`.
  Result<uint64_t> EvictFrom(uint64_t first, uint64_t pairs, uint64_t most, uint64_t now);
  // What a snapshot and the table below have to get of rows before they go.
  Status SaveRows(const WindowSlots& window);

  const EvictorParts parts_;
  const VictimOrder order_;
  const uint32_t rows_at_once_;
  const KeepForSnapshot keep_;
  DeviceBuffer slots_;
  DeviceBuffer ranks_;
  DeviceBuffer scratch_;
  DeviceBuffer counted_;
  uint64_t pairs_max_ = 0;         // that there is memory for
  uint64_t hand_ = 0;              // the pair where the next search begins
  uint64_t gone_since_sweep_ = 0;  // rows
  uint64_t pairs_swept_ = 0;       // that there were then
  uint32_t pushes_gone_ = 0;
};

}  // namespace strata
