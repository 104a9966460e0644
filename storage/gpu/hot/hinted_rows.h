// HintedRows: rows of keys that are asked for soon, gathered while the table does other work.
//
// The table goes on while the rows of a hint are gathered. The GPU takes them in with the next
// hint, or when Finish is called. Rows of a hint that fit one slot are taken in at once, others
// chunk by chunk.
#pragma once

#include <cstdint>
#include <memory>

#include "storage/gpu/device_buffer.h"
#include "storage/gpu/device_map.h"
#include "storage/gpu/hot/keys_down.h"
#include "storage/gpu/hot/residency.h"
#include "storage/gpu/hot/resident_counts.h"
#include "storage/gpu/hot/row_gatherer.h"
#include "strata/status.h"

namespace strata {

// What the rest of the table gives it, and which outlives it.
struct HintParts {
  const Exec& exec;
  const std::unique_ptr<DeviceMap>& map;
  PinnedPool& host;
  RowGatherer& gatherer;
  Residency& residency;
  ResidentCounts& counts;
};

// Not thread-safe.
class HintedRows {
 public:
  explicit HintedRows(const HintParts& parts);
  ~HintedRows();  // the GPU has done what was enqueued

  // Rows of a hint are gathered, or have been and are not in the map yet.
  bool is_under_way() const { return reading_ != nullptr; }
  // Where the GPU is to put how many distinct keys the next hint has. Pinned.
  uint32_t* distinct();
  // Begins to gather rows of `missing` keys at most, which are coming down, and takes in the rows
  // of the hint before. `listed`: whether these keys could be asked for. The keys become its own.
  Status Begin(KeysDown& keys, uint32_t missing, uint64_t tick, const Status& listed);
  // Takes in what has been gathered by now.
  void TakeInReady();
  // Waits for the rows of the hint that is under way, if one is, and takes them in. Whether one
  // was: rows may have come then.
  bool Finish();
  // Counts the rows that the last finished hint has brought.
  void Settle();
  // Of so many rows in the map, those that the hint under way has brought.
  uint64_t RowsHere(uint64_t rows) const;
  // Gathers no more. Rows that are not taken in are lost.
  void Stop();

 private:
  // Rows in the map before a hint's have come and when they have, and how many have ever gone.
  struct Rows {
    unsigned long long before;
    unsigned long long behind;
    uint64_t gone_before;
    uint64_t gone;
  };
  // Of a hint, in pinned memory.
  struct Counted {
    uint32_t distinct;
    Rows rows;
  };

  Counted& CountedOf(uint64_t hint) const;  // every second one has the same
  void Add(const RowChunk& chunk);
  void Await(Reading& reading);   // its rows are gathered, and its threads at rest
  void TakeIn(Reading& reading);  // behind that; makes room for them, unless that has been done

  const HintParts parts_;
  KeysDown keys_;                     // of reading_
  std::unique_ptr<Reading> reading_;  // that was begun
  DeviceBuffer misses_;
  std::shared_ptr<float[]> counted_;
  uint64_t finished_ = 0;
  bool is_unsettled_ = false;     // of these, the last one
  void* counted_here_ = nullptr;  // cudaEvent_t: Rows of the last one that is finished
};

}  // namespace strata
